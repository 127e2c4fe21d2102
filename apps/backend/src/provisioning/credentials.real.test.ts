/** Credentials of an app cluster on a real API server: whatever was revoked or lost, binding again hands out one that works. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { binderName, kubeconfigKey } from "@klutch/api";
import { type DynamicObject, secrets, serviceAccounts } from "@klutch/kube-core";
import { parseForeignKubeconfig } from "@klutch/kube";
import { answerTo, crdObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, offerDatabases } from "../testing/provider.ts";
import { startProvisioning } from "../testing/provisioning.ts";
import { expiresAnnotation } from "./credentials.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "credentials", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client, [crdObject(databases)]);
await offerDatabases(client);
const { bindDatabases, exportTemplates, issuer, signal } = await startProvisioning(stack, cluster, {
  client: confined,
});
await waitFor("the offer", () => exportTemplates.find("example.org", "databases"));

async function bindAgain(): Promise<{ readonly text: string; readonly namespace: string }> {
  const text = await bindDatabases("one");
  return { text, namespace: parseForeignKubeconfig(text).namespace ?? "" };
}

async function deleteAccount(namespace: string): Promise<void> {
  await client.delete(serviceAccounts, { namespace, name: binderName });
}

test("after the operator deleted the account, binding again hands out a credential that works", async () => {
  const first = await bindAgain();
  await waitFor("the first credential", async () => (await answerTo(first.text)) === 200);
  await deleteAccount(first.namespace);
  const second = await bindAgain();
  assert.equal(second.namespace, first.namespace);
  // The server remembers a good token for some seconds, so that only the end of the wait tells the two apart.
  await waitFor("the revoked credential to be refused", async () => (await answerTo(first.text)) === 401, {
    timeoutMs: 30_000,
  });
  assert.equal(await answerTo(second.text), 200);
});

test("the copy that the agent reads is the credential that binding again handed out", async () => {
  const { namespace } = await bindAgain();
  await client.delete(secrets, { namespace, name: kubeconfigKey });
  await deleteAccount(namespace);
  const { text } = await bindAgain();
  const secret = await client.get<DynamicObject>(secrets, { namespace, name: kubeconfigKey });
  const data = secret["data"] as Record<string, string>;
  assert.equal(Buffer.from(data[kubeconfigKey] ?? "", "base64").toString(), text);
});

test("a foreign credential in the Secret is never handed out", async () => {
  const { namespace, text } = await bindAgain();
  const foreign = text.replace(/token: .*/, "token: stranger");
  const data = { [kubeconfigKey]: Buffer.from(foreign).toString("base64") };
  await client.mergePatch(secrets, { namespace, name: kubeconfigKey }, { data });
  const again = await bindAgain();
  assert.equal(await answerTo(again.text), 200);
});

test("an account that is gone is not made again by keeping credentials fresh", async () => {
  const { namespace } = await bindAgain();
  await deleteAccount(namespace);
  await client.delete(secrets, { namespace, name: kubeconfigKey });
  await assert.rejects(issuer(3600).ensure(namespace, { signal }), (error: Error) => {
    assert.match(error.message, new RegExp(`ServiceAccount ${namespace}/${binderName}.*kubectl bind`));
    return true;
  });
  assert.equal(await client.find(serviceAccounts, { namespace, name: binderName }), undefined);
});

test("a credential is renewed when half of its life is over, also the shortest one", async () => {
  const { namespace } = await bindAgain();
  for (const seconds of [600, 86_400]) {
    const { renewInMs } = await issuer(seconds).issue(namespace, { signal });
    const half = (seconds * 1_000) / 2;
    assert.ok(renewInMs > half - 60_000 && renewInMs <= half + 1_000, `${renewInMs} ms of ${seconds} s`);
    const kept = await issuer(seconds).ensure(namespace, { signal });
    assert.ok(kept.renewInMs <= half + 1_000, `${kept.renewInMs} ms of ${seconds} s`);
  }
});

test("without a lifetime the agents get a token that does not end, also instead of one that would, and not for a revoked one", async () => {
  const { namespace } = await bindAgain();
  const lasting = issuer(undefined);
  const { kubeconfig } = await lasting.ensure(namespace, { signal });
  const secret = await client.get<DynamicObject>(secrets, { namespace, name: kubeconfigKey });
  assert.equal(secret.metadata.annotations?.[expiresAnnotation], undefined);
  assert.equal(await answerTo(kubeconfig), 200);
  const { auth } = parseForeignKubeconfig(kubeconfig);
  const payload = auth.kind === "token" ? (auth.token.reveal().split(".")[1] ?? "") : "";
  assert.doesNotMatch(Buffer.from(payload, "base64url").toString(), /"exp"/);
  assert.equal((await lasting.ensure(namespace, { signal })).kubeconfig, kubeconfig);
  await deleteAccount(namespace);
  await assert.rejects(lasting.ensure(namespace, { signal }), /kubectl bind/);
  await bindAgain();
  const again = await lasting.ensure(namespace, { signal });
  assert.notEqual(again.kubeconfig, kubeconfig);
  assert.equal(await answerTo(again.kubeconfig), 200);
});
