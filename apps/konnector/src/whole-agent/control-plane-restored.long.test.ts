/**
 * A control plane is restored from a backup of its etcd while an agent works: nothing is deleted in the app cluster, later edits go up again, and a
 * claim whose object the backup lacks waits for a person (designs/0038-restored-control-plane.md).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiServiceBindings, consumerNamespace, releaseCreationsAnnotation } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, recordAt } from "@klutch/kube-core";
import { backUpEtcd, outrunBackup, restoreEtcd, startCluster, waitFor } from "@klutch/kube-testing";
import { bindApi, startAppCluster, startKonnector, testApi } from "../testing/fixture.ts";
import { pairOf, serviceNamespace } from "../testing/pair.ts";
import {
  exportCrd,
  installBindCrds,
  installCrd,
  prepareTenant,
  serveNamespaces,
} from "../testing/provider-side.ts";

const { type, name: apiName, crd } = testApi("widgets", "Widget");
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const provider = stack.use(await startCluster({ name: "provider" }));
const consumer = stack.use(await startAppCluster());
await installBindCrds(provider);
const stop = new AbortController();
const serving = serveNamespaces(provider, stop.signal).catch(() => undefined);
stack.defer(() => serving);
stack.defer(() => stop.abort());
await installCrd(provider, crd);
const kubeconfig = await prepareTenant(provider, [type.plural]);
await exportCrd(provider, crd);
const fixture = { consumer, provider };
const { binding, onProvider, onConsumer, createSynced, untilReady, untilReason } = pairOf(fixture);
let konnector = stack.use(await startKonnector(fixture));
const ref = (name: string) => ({ namespace: "app", name });

async function untilSize(name: string, size: number): Promise<void> {
  const isSo = async (): Promise<boolean> => recordAt(await onProvider(type, name), "spec")["size"] === size;
  // A watch of a server that went back is silent, which is noticed after 90 s.
  await waitFor(`${name} to have the size ${size} upstream`, isSo, { timeoutMs: 240_000 });
}

/** Writes the status of an upstream object, and waits until its claim shows it. */
async function report(name: string, phase: string): Promise<void> {
  const upstream = { namespace: serviceNamespace, name };
  await provider.client.mergePatch(type, upstream, { status: { phase } }, { subresource: "status" });
  const isShown = async (): Promise<boolean> =>
    recordAt(await onConsumer(type, name), "status")["phase"] === phase;
  await waitFor(`the status of ${name}`, isShown);
}

async function createReported(name: string): Promise<void> {
  await createSynced(type, name, { size: 1 }, { timeoutMs: 60_000 });
  await report(name, "Made");
}

async function claimUids(): Promise<ReadonlyMap<string | undefined, string | undefined>> {
  const { items } = await consumer.client.list<DynamicObject>(type, { namespace: "app" });
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
}

const uids = new Map<string | undefined, string | undefined>();

test("after a restore, edits go up again, deletions are carried out again, and nothing is deleted in the app cluster", async () => {
  await bindApi(fixture, apiName, kubeconfig);
  await untilReady(apiName);
  for (const name of ["kept", "edited", "deleted"]) await createReported(name);
  const upstream = await onProvider(type, "kept");
  await backUpEtcd(provider);

  await createReported("later");
  await consumer.client.mergePatch(type, ref("edited"), { spec: { size: 2 } });
  await untilSize("edited", 2);
  await consumer.client.delete(type, ref("deleted"));
  await waitFor("the deletion", async () => (await onConsumer(type, "deleted")) === undefined);
  await outrunBackup(provider.client, 500);
  // The API's cache would learn of the other writes with the next bookmark only.
  await report("kept", "Old");
  for (const [name, uid] of await claimUids()) uids.set(name, uid);
  assert.deepEqual([...uids.keys()], ["edited", "kept", "later"]);
  const before = konnector.writes.length;

  await restoreEtcd(provider);
  await untilSize("edited", 2);
  await waitFor("the deletion to be carried out again", async () => {
    return (await onProvider(type, "deleted")) === undefined;
  });
  assert.deepEqual(
    konnector.writes.slice(before).filter((write) => /^consumer (delete|create) widgets$/.test(write)),
    [],
    "the app cluster's own objects stay as they are",
  );
  assert.deepEqual(await claimUids(), uids);
  assert.equal((await onProvider(type, "kept"))?.metadata.uid, upstream?.metadata.uid);
  await consumer.client.mergePatch(type, ref("kept"), { spec: { size: 3 } });
  await untilSize("kept", 3);
});

test("a claim whose object the backup lacks gets no empty one, also after a restart, until a person releases it", async () => {
  const words = await untilReason(apiName, "CreationHeld", "ProviderRestored");
  assert.match(words, /klutch release widgets\./);
  await konnector[Symbol.asyncDispose]();
  konnector = stack.use(await startKonnector(fixture));
  await createSynced(type, "new", { size: 1 }, { timeoutMs: 60_000 });
  assert.equal(await onProvider(type, "later"), undefined);
  assert.equal((await onConsumer(type, "later"))?.metadata.uid, uids.get("later"));

  const release = { [releaseCreationsAnnotation]: new Date().toISOString() };
  const about = { namespace: consumerNamespace, name: apiName };
  await consumer.client.mergePatch(apiServiceBindings, about, { metadata: { annotations: release } });
  await waitFor("the later claim's new object", () => onProvider(type, "later"));
  await waitFor("the binding to hold nothing", async () => {
    return findCondition(conditionsOf(await binding(apiName)), "CreationHeld") === undefined;
  });
});
