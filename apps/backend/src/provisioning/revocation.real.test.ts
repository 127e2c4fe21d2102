/** The revocation of an app cluster on a real API server: it shows at once, and its people stay out until the operator allows them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  binderName,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  newClusterKey,
  publicKeyOf,
  renewalKeyAnnotation,
  renewalText,
  signText,
} from "@klutch/api";
import { namespaces, serviceAccounts, textAt } from "@klutch/kube-core";
import { createKubeClient, isForbidden, parseForeignKubeconfig } from "@klutch/kube";
import { crdObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, offerDatabases } from "../testing/provider.ts";
import { sessionOf, startProvisioning } from "../testing/provisioning.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { conditionText } from "../testing/tenants.ts";
import type { BindSession } from "./bind.ts";
import { ensureTenant, refuseAtLogin } from "./tenant.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "revocation", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client, [crdObject(databases)]);
await offerDatabases(client);
const lines: string[] = [];
const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
const flags = [...loginFlags("https://backend.example.org", Buffer.alloc(32, 5)), "--pretty-name=Tests"];
const { backend } = await startBackend(stack, cluster, { flags, client: confined, logger });
const { bind, bindDatabases, exportTemplates, tenant, signal } = await startProvisioning(stack, cluster, {
  client: confined,
});
await waitFor("the offer", () => exportTemplates.find("example.org", "databases"));

const api = { resource: "databases", group: "example.org" };
const personOf = (subject: string, clusterId = "abc123", more: Partial<BindSession> = {}): BindSession => ({
  ...sessionOf(subject),
  clusterId,
  ...more,
});
const accountOf = (namespace: string): Promise<unknown> =>
  client.find(serviceAccounts, { namespace, name: binderName });
const healthOf = async (namespace: string): Promise<string> => {
  const ref = { namespace, name: clusterBindingName };
  const { status } = await client.get<ClusterBinding>(clusterBindings, ref);
  return conditionText(status?.conditions, "Healthy");
};

/** Binds, and has the konnector report. Returns the tenant once it is healthy and cached. */
async function healthyTenant(session: BindSession): Promise<string> {
  const namespace = await ensureTenant(tenant, session, { signal });
  const lastHeartbeatTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const status = { lastHeartbeatTime, heartbeatInterval: "5m0s" };
  const ref = { namespace, name: clusterBindingName };
  await client.mergePatch(clusterBindings, ref, { status }, { subresource: "status" });
  await waitFor("a healthy tenant", async () => (await healthOf(namespace)).startsWith("True"));
  return namespace;
}

async function annotate(namespace: string, value: string | null): Promise<void> {
  const patch = { metadata: { annotations: { [renewalKeyAnnotation]: value } } };
  const { metadata } = await client.mergePatch(namespaces, { name: namespace }, patch);
  await waitFor("the cache", () => {
    const cached = tenant.namespaceCache.get(namespace)?.metadata.resourceVersion;
    return cached === metadata.resourceVersion;
  });
}

/** Does what docs/operating.md says. */
async function revoke(namespace: string): Promise<void> {
  await annotate(namespace, "revoked");
  await client.delete(serviceAccounts, { namespace, name: binderName });
}

const isRefusal = (words: RegExp) => (error: unknown) =>
  error instanceof UserError && error.status === 403 && words.test(`${error.message} ${error.advice}`);

test("a deleted account shows on the ClusterBinding at once, while its token has nearly all of its life", async () => {
  const namespace = await healthyTenant(personOf("one"));
  await client.delete(serviceAccounts, { namespace, name: binderName });
  await waitFor("the condition", async () =>
    /^False AccountMissing .*does not exist.*run kubectl bind/.test(await healthOf(namespace)),
  );
  await bindDatabases("one");
  await waitFor("the end of the condition", async () => (await healthOf(namespace)).startsWith("True"));
});

test("a revoked tenant is refused to its people until the operator allows it, and the condition says so", async () => {
  const clusterKey = publicKeyOf(newClusterKey());
  const namespace = await healthyTenant(personOf("two", "abc123", { clusterKey }));
  await ensureTenant(tenant, personOf("member", "abc123", { clusterKey }), { signal });
  await revoke(namespace);
  await waitFor("the condition", async () =>
    /^False AccountMissing .*operator revoked.*kubectl annotate namespace \S+ klutch\.anynines\.com\/renewal-key-/.test(
      await healthOf(namespace),
    ),
  );
  const refusal = isRefusal(new RegExp(`revoked.*${namespace}.*Ask the operator of Tests`));
  const tries: Readonly<Record<string, BindSession>> = {
    "the founder": personOf("two", "abc123", { clusterKey }),
    "the founder with an existing plugin": personOf("two"),
    "the founder with another cluster id": personOf("two", "new456"),
    "the founder with the key of another cluster": personOf("two", "new456", {
      clusterKey: publicKeyOf(newClusterKey()),
    }),
    "a member": personOf("member", "abc123", { clusterKey }),
    "a member with another cluster id": personOf("member", "new456"),
    "a third person with the app cluster's key": personOf("third", "abc123", { clusterKey }),
  };
  for (const [who, session] of Object.entries(tries)) {
    await assert.rejects(bind(session, [api]), refusal, who);
    assert.throws(() => refuseAtLogin(tenant, session), refusal, who);
  }
  assert.equal(await accountOf(namespace), undefined);
  await annotate(namespace, null);
  await bind(personOf("two", "abc123", { clusterKey }), [api]);
  await waitFor("the end of the condition", async () => (await healthOf(namespace)).startsWith("True"));
});

test("a revocation shuts out no one else", async () => {
  const other = await healthyTenant(personOf("four", "other1"));
  const namespace = await healthyTenant(personOf("four"));
  await revoke(namespace);
  const tries: Readonly<Record<string, BindSession>> = {
    "another person with the same cluster id": personOf("five"),
    "the same subject at another issuer": { ...personOf("four"), issuer: "https://other.example" },
    "a subject that begins like it": personOf("four#abc123", "x"),
    "the same person in an app cluster that was bound before": personOf("four", "other1"),
  };
  for (const [who, session] of Object.entries(tries)) {
    await bind(session, [api]);
    assert.doesNotThrow(() => refuseAtLogin(tenant, session), who);
  }
  assert.match(await healthOf(other), /^True/);
});

test("a tenant cannot allow itself, with whatever it still holds", async () => {
  const namespace = await healthyTenant(personOf("six"));
  const answer = await bindDatabases("six");
  const own = stack.use(createKubeClient(parseForeignKubeconfig(answer)));
  await annotate(namespace, "revoked");
  const patch = { metadata: { annotations: { [renewalKeyAnnotation]: null } } };
  await assert.rejects(own.mergePatch(namespaces, { name: namespace }, patch), isForbidden);
  const status = { renewalKey: publicKeyOf(newClusterKey()) };
  const ref = { namespace, name: clusterBindingName };
  await own.mergePatch(clusterBindings, ref, { status, ...patch }, { subresource: "status" });
  await client.delete(serviceAccounts, { namespace, name: binderName });
  await waitFor("a reconcile", async () => (await healthOf(namespace)).includes("AccountMissing"));
  await assert.rejects(bind(personOf("six"), [api]), isRefusal(/revoked/));
});

test("the log says that a renewal was refused because the tenant is revoked", async () => {
  const namespace = await healthyTenant(personOf("seven"));
  await revoke(namespace);
  const said = (): boolean =>
    lines.some((line) => line.includes("a renewal was refused") && line.includes('"why":"revoked"'));
  await waitFor("the log", async () => {
    const key = newClusterKey();
    const challenge = await post("/renew/challenge", {});
    const text = renewalText("https://backend.example.org/renew", { namespace, challenge });
    await post("/renew", { namespace, challenge, signature: signText(key, text) });
    return said();
  });
});

async function post(path: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await backend.app.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  return textAt(await answer.json(), "challenge") ?? "";
}

test("after a revoked tenant was deleted, its person starts afresh", async () => {
  const namespace = await healthyTenant(personOf("eight"));
  await revoke(namespace);
  await client.delete(namespaces, { name: namespace });
  await waitFor("the namespace to go", () => tenant.namespaceCache.get(namespace) === undefined);
  await bindDatabases("eight");
  assert.notEqual(await accountOf(namespace), undefined);
});
