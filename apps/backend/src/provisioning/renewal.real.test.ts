/** Coming back with the key of the app cluster, on a real API server and through the backend's own routes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  binderName,
  clusterBindingName,
  clusterBindings,
  decodeRenewed,
  newClusterKey,
  publicKeyOf,
  renewalKeyAnnotation,
  renewalText,
  renewalUrlOf,
  signText,
} from "@klutch/api";
import { type DynamicObject, isRecord, namespaces, serviceAccounts } from "@klutch/kube-core";
import { answerTo, serviceAccountObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import { createSealer } from "../sealed-cookie.ts";
import { confinedClient } from "../testing/confined.ts";
import { installProvider } from "../testing/provider.ts";
import { sessionOf, startProvisioning } from "../testing/provisioning.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { ensureTenant } from "./tenant.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "renewal", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client);
await waitFor("ClusterBindings to be served", () => client.list(clusterBindings));

const cookieKey = Buffer.alloc(32, 5);
const url = "https://backend.example.org/renew";
const flags = loginFlags("https://backend.example.org", cookieKey);
const { backend } = await startBackend(stack, cluster, { flags, client: confined });
const { tenant, signal } = await startProvisioning(stack, cluster, { client: confined });

const tenantOf = (subject: string): Promise<string> => ensureTenant(tenant, sessionOf(subject), { signal });
const bindingOf = (namespace: string): Promise<DynamicObject> =>
  client.get<DynamicObject>(clusterBindings, { namespace, name: clusterBindingName });
const registered = async (namespace: string): Promise<string | undefined> =>
  (await client.get(namespaces, { name: namespace })).metadata.annotations?.[renewalKeyAnnotation];

/** Publishes the key, as the konnector does in its heartbeat. */
async function offer(namespace: string, key: string): Promise<void> {
  const ref = { namespace, name: clusterBindingName };
  const patch = { status: { renewalKey: publicKeyOf(key) } };
  await client.mergePatch(clusterBindings, ref, patch, { subresource: "status" });
}

async function tenantWithKey(subject: string): Promise<{ readonly namespace: string; readonly key: string }> {
  const namespace = await tenantOf(subject);
  const key = newClusterKey();
  await offer(namespace, key);
  await waitFor("the key to be registered", async () => (await registered(namespace)) === publicKeyOf(key));
  return { namespace, key };
}

async function post(
  path: string,
  body: unknown,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const headers = { "content-type": "application/json" };
  const answer = await backend.app.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

async function challenge(): Promise<string> {
  const { body } = await post("/renew/challenge", {});
  assert.ok(isRecord(body) && typeof body["challenge"] === "string");
  return body["challenge"];
}

const signed = (namespace: string, key: string, text: string, to = url): object => ({
  namespace,
  challenge: text,
  signature: signText(key, renewalText(to, { namespace, challenge: text })),
});
const refused = { status: 403, body: { error: "refused" } };

const one = await tenantWithKey("one");
const two = await tenantWithKey("two");

test("the konnector is told where it can come back, and the first key that it offers stays", async () => {
  const { spec } = await bindingOf(one.namespace);
  assert.equal(renewalUrlOf(isRecord(spec) ? spec["serviceProviderSpec"] : undefined), url);
  await offer(one.namespace, newClusterKey());
  await waitFor("the next reconcile", async () => {
    const { status } = await bindingOf(one.namespace);
    return isRecord(status) && status["renewalKey"] !== publicKeyOf(one.key);
  });
  // A later change of the same object is answered, so the offer was reconciled before.
  const beat = { lastHeartbeatTime: "2026-01-01T00:00:00Z", heartbeatInterval: "5m0s" };
  const ref = { namespace: one.namespace, name: clusterBindingName };
  await client.mergePatch(clusterBindings, ref, { status: beat }, { subresource: "status" });
  await waitFor("the silence to be told", async () =>
    JSON.stringify((await bindingOf(one.namespace)).status).includes("HeartbeatTimeout"),
  );
  assert.equal(await registered(one.namespace), publicKeyOf(one.key));
});

test("after every token has ended, the holder of the key gets a credential that works", async () => {
  const account = { namespace: one.namespace, name: binderName };
  await client.delete(serviceAccounts, account);
  await client.create(serviceAccounts, serviceAccountObject(account));
  // The backend's cache may not show the key yet.
  const body = await waitFor("the renewal", async () => {
    const answer = await post("/renew", signed(one.namespace, one.key, await challenge()));
    return answer.status === 200 ? answer.body : undefined;
  });
  assert.equal(await answerTo(decodeRenewed(body)), 200);
});

test("a challenge counts once, also when it is sent twice at the same time", async () => {
  await waitFor("a first renewal", async () => {
    const request = signed(two.namespace, two.key, await challenge());
    if ((await post("/renew", request)).status !== 200) return false;
    assert.deepEqual(await post("/renew", request), refused);
    return true;
  });
  const racing = await tenantWithKey("racing");
  await waitFor("a renewal of two that race", async () => {
    const request = signed(racing.namespace, racing.key, await challenge());
    const answers = await Promise.all([post("/renew", request), post("/renew", request)]);
    const good = answers.filter(({ status }) => status === 200).length;
    assert.ok(good <= 1);
    return good === 1;
  });
});

test("a stranger's key, another tenant's name, another address and old challenges get one and the same answer", async () => {
  const stranger = newClusterKey();
  const sealer = createSealer("renewal", { signing: new Secret(cookieKey), encryption: undefined });
  const other = createSealer("session", { signing: new Secret(cookieKey), encryption: undefined });
  const now = { issuedAt: String(Date.now()), nonce: "x" };
  const expired = await sealer.seal(now, -1);
  const old = await sealer.seal({ issuedAt: String(Date.now() - 61_000), nonce: "x" }, 600);
  const ofAnotherKind = await other.seal(now, 60);
  const cases: Readonly<Record<string, unknown>> = {
    "a stranger's key": signed(one.namespace, stranger, await challenge()),
    "another tenant's name": signed(two.namespace, one.key, await challenge()),
    "a namespace that does not exist": signed("cluster-none", one.key, await challenge()),
    "a namespace that is no tenant": signed("kube-system", one.key, await challenge()),
    "a prefix of a name": signed(one.namespace.slice(0, -1), one.key, await challenge()),
    "a signature for another backend": signed(
      one.namespace,
      one.key,
      await challenge(),
      "https://evil.example/renew",
    ),
    "an expired challenge": signed(one.namespace, one.key, expired),
    "a challenge of more than a minute ago": signed(one.namespace, one.key, old),
    "a challenge of another kind": signed(one.namespace, one.key, ofAnotherKind),
    "a made-up challenge": signed(one.namespace, one.key, "made-up"),
    "no signature": { namespace: one.namespace, challenge: await challenge() },
    "a list": [],
  };
  for (const [what, request] of Object.entries(cases)) {
    assert.deepEqual(await post("/renew", request), refused, what);
  }
});

test("a revoked key is refused and stays revoked; without an account nothing is issued", async () => {
  const three = await tenantWithKey("three");
  const annotate = (value: string | null): Promise<unknown> =>
    client.mergePatch(
      namespaces,
      { name: three.namespace },
      { metadata: { annotations: { [renewalKeyAnnotation]: value } } },
    );
  await annotate("revoked");
  assert.deepEqual(await post("/renew", signed(three.namespace, three.key, await challenge())), refused);
  await offer(three.namespace, newClusterKey());
  await offer(three.namespace, three.key);
  assert.equal(await registered(three.namespace), "revoked");
  await annotate(publicKeyOf(three.key) ?? null);
  await client.delete(serviceAccounts, { namespace: three.namespace, name: binderName });
  assert.deepEqual(await post("/renew", signed(three.namespace, three.key, await challenge())), refused);
  assert.equal(
    await client.find(serviceAccounts, { namespace: three.namespace, name: binderName }),
    undefined,
  );
});
