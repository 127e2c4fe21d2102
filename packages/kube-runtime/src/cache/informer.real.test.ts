import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createKubeClient, WatchStalledError } from "@klutch/kube";
import { configMaps, type DynamicObject, keyOf, type KubeObject, namespaces } from "@klutch/kube-core";
import { leaseCluster, startFaultProxy, waitFor } from "@klutch/kube-testing";
import { Informer } from "./informer.ts";
import type { Change } from "./store.ts";
import { type LogLine, recordingLogger } from "../testing/recording-logger.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "informer" }));
const proxy = stack.use(await startFaultProxy(cluster));
const client = stack.use(createKubeClient(proxy.config));
await cluster.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });

const idleTimeoutMs = 700;
const informer = stack.use(
  new Informer<KubeObject>({
    client,
    type: configMaps,
    namespace: "a",
    idleTimeoutMs,
    // The shortest back-off, so that the test does not wait for luck.
    random: () => 0,
  }),
);

/** The state that a consumer of change events believes, built from the events alone. */
const believed = new Map<string, string | undefined>();
const faults: string[] = [];
informer.onChange((change: Change<KubeObject>) => {
  const { key, object, type } = change;
  if (type === "added" && believed.has(key)) faults.push(`added twice: ${key}`);
  if (type !== "added" && !believed.has(key)) faults.push(`${type} before added: ${key}`);
  if (type === "deleted") believed.delete(key);
  else believed.set(key, object.metadata.resourceVersion);
});
informer.start();
await informer.whenSynced();

let made = 0;
const configMap = (name: string, value: string): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "a", name },
  data: { value },
});

/** Creates, changes and deletes while the fault is on. */
async function churn(): Promise<void> {
  for (let round = 0; round < 8; round++) {
    const name = `m${made++}`;
    await cluster.client.create(configMaps, configMap(name, "one"));
    if (round % 2 === 0)
      await cluster.client.mergePatch(configMaps, { namespace: "a", name }, { data: { value: "two" } });
    if (round % 3 === 0) await cluster.client.delete(configMaps, { namespace: "a", name });
  }
}

async function assertConverged(): Promise<void> {
  await waitFor(
    "the cache to equal the server's list",
    async () => {
      const { items } = await cluster.client.list<KubeObject>(configMaps, { namespace: "a" });
      const wanted = items.map((item) => `${keyOf(item)}@${item.metadata.resourceVersion}`).toSorted();
      const cached = [...informer.list()]
        .map((item) => `${keyOf(item)}@${item.metadata.resourceVersion}`)
        .toSorted();
      const heard = [...believed].map(([key, version]) => `${key}@${version}`).toSorted();
      return (
        JSON.stringify(wanted) === JSON.stringify(cached) && JSON.stringify(wanted) === JSON.stringify(heard)
      );
    },
    { timeoutMs: 30_000 },
  );
  assert.deepEqual(faults, []);
}

const scenarios: readonly (readonly [string, () => Promise<void>])[] = [
  ["nothing", churn],
  [
    "a dropped connection",
    async () => {
      await churn();
      proxy.drop();
      await churn();
    },
  ],
  [
    "a black hole, which no closed connection gives away",
    async () => {
      const before = proxy.watches;
      proxy.blackHole(true);
      await churn();
      await waitFor("the silent watch to be given up", () => proxy.watches > before, {
        timeoutMs: 15 * idleTimeoutMs,
      });
      proxy.blackHole(false);
      await churn();
    },
  ],
  [
    "slow delivery",
    async () => {
      proxy.delay(60);
      await churn();
      proxy.delay(0);
    },
  ],
  [
    "an event that is cut in the middle",
    async () => {
      proxy.truncate();
      await churn();
    },
  ],
  [
    "a version that is too old (410)",
    async () => {
      proxy.answer(410, 1);
      proxy.drop();
      await churn();
    },
  ],
  [
    "too many requests (429)",
    async () => {
      proxy.answer(429, 2);
      proxy.drop();
      await churn();
    },
  ],
  [
    "server errors (500, 503)",
    async () => {
      proxy.answer(500, 1);
      proxy.answer(503, 1);
      proxy.drop();
      await churn();
    },
  ],
];

for (const [name, run] of scenarios) {
  test(`after ${name} the cache equals the server, and no change was missed or reported twice`, async () => {
    await run();
    await assertConverged();
  });
}

test("objects made and deleted again between two lists are reported as two changes", async () => {
  const ref = { namespace: "a", name: "reborn" };
  await cluster.client.create(configMaps, configMap("reborn", "first"));
  await assertConverged();
  const seen: string[] = [];
  using _subscription = informer.onChange(({ type, key }) => {
    if (key === "a/reborn") seen.push(type);
  });
  seen.length = 0;
  proxy.answer(410, 1);
  proxy.drop();
  await cluster.client.delete(configMaps, ref);
  await cluster.client.create(configMaps, configMap("reborn", "second"));
  await assertConverged();
  assert.deepEqual(seen.slice(0, 2), ["deleted", "added"]);
});

test("what was cached before a handler came is given to it as part of the initial list", async () => {
  await cluster.client.create(configMaps, configMap("before", "one"));
  await assertConverged();
  const seen = new Map<string, boolean>();
  using _subscription = informer.onChange(({ key }, isInInitialList) => void seen.set(key, isInInitialList));
  assert.equal(seen.get("a/before"), true);
  await cluster.client.create(configMaps, configMap("after", "one"));
  await assertConverged();
  assert.equal(seen.get("a/after"), false);
});

test("a cache that hears nothing for twice its idle limit calls itself stale, and recovers", async () => {
  proxy.blackHole(true);
  await waitFor("the cache to be stale", () => informer.status().stale, { timeoutMs: 10_000 });
  proxy.blackHole(false);
  await churn();
  await assertConverged();
  await waitFor("the cache to be fresh", () => !informer.status().stale, { timeoutMs: 20_000 });
});

test("a watch of a kind that no one writes to is silent without a word; one that keeps something back is not", async () => {
  const lines: LogLine[] = [];
  const namespace = "quiet";
  await cluster.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  const options = {
    client,
    type: configMaps,
    namespace,
    idleTimeoutMs,
    random: () => 0,
    logger: recordingLogger(lines),
  };
  await using quiet = new Informer<KubeObject>(options);
  let lists = 0;
  quiet.onListed(() => void lists++);
  quiet.start();
  await waitFor("the silent watch to be replaced twice", () => lists > 2, { timeoutMs: 20_000 });
  assert.deepEqual(
    lines.map(({ fields }) => fields["error"]),
    [],
  );
  assert.equal(quiet.status().lastError, undefined);
  proxy.blackHole(true);
  const kept = { ...configMap("kept", "back"), metadata: { namespace, name: "kept" } };
  await cluster.client.create(configMaps, kept);
  await waitFor("the silence to be reported", () => lines.length > 0, { timeoutMs: 20_000 });
  proxy.blackHole(false);
  assert.ok(lines[0]?.fields["error"] instanceof WatchStalledError);
});
