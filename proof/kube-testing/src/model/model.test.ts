import assert from "node:assert/strict";
import { test } from "node:test";
import {
  discoverResource,
  FencedError,
  isConflict,
  isGone,
  isNotFound,
  isTooManyRequests,
  type KubeClient,
  TransportError,
  type WatchEvent,
  type WatchOptions,
  WatchStalledError,
  type WriteGuard,
} from "@klutch/kube";
import {
  configMaps,
  customResourceDefinitions as crds,
  type KubeObject,
  namespaces,
} from "@klutch/kube-core";
import { VirtualClock } from "../virtual-clock.ts";
import { ApiServerModel } from "./api-server.ts";
import { type Fault, type FaultSource, seededFaults } from "./faults.ts";
import { definitionOf, widgets } from "./testing/compared-types.ts";

const namespace = "default";
const at = (name: string) => ({ namespace, name });
const configMap = (name: string, data: Record<string, string> = {}, labels?: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels },
  data,
});

interface Fixture {
  readonly clock: VirtualClock;
  readonly server: ApiServerModel;
  readonly client: KubeClient;
}

function fixture(faults?: FaultSource, options: { writeGuard?: WriteGuard } = {}): Fixture {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  return { clock, server, client: server.client({ clusterName: "model", faults, ...options }) };
}

/** Faults that happen in a given order, then none. */
function scripted(faults: (Fault | undefined)[], latencyMs = 0): FaultSource {
  return { onRequest: () => faults.shift(), onWatchEvent: () => "deliver", latencyMs: () => latencyMs };
}

interface Recorded {
  readonly events: WatchEvent<KubeObject>[];
  readonly end: Promise<unknown>;
}

/** Collects events; `end` is the error, or "closed". */
function record(client: KubeClient, options: WatchOptions = {}): Recorded {
  const events: WatchEvent<KubeObject>[] = [];
  const run = async (): Promise<unknown> => {
    for await (const event of client.watch<KubeObject>(configMaps, { namespace, ...options }))
      events.push(event);
    return "closed";
  };
  return { events, end: run().catch((error: unknown) => error) };
}

const summary = (events: readonly WatchEvent<KubeObject>[]): string[] =>
  events.map((event) =>
    event.type === "BOOKMARK"
      ? `B ${event.initialEventsEnd}`
      : `${event.type[0]} ${event.object.metadata.name}`,
  );

test("a watch of a selector shows an object that begins to match as added and one that stops as deleted", async () => {
  const { clock, client } = fixture();
  const { events } = record(client, { resourceVersion: "0", labelSelector: "app=x" });
  await clock.advance(0);
  await client.create(configMaps, configMap("a"));
  const labelled = await client.mergePatch<KubeObject>(configMaps, at("a"), {
    metadata: { labels: { app: "x" } },
  });
  await client.mergePatch(configMaps, at("a"), { data: { k: "v" } });
  const without = await client.mergePatch<KubeObject>(configMaps, at("a"), { metadata: { labels: null } });
  await client.delete(configMaps, at("a"));
  await clock.advance(0);
  assert.deepEqual(summary(events), ["A a", "M a", "D a"]);
  const [first, , last] = events;
  assert.ok(
    first?.type === "ADDED" && first.object.metadata.resourceVersion === labelled.metadata.resourceVersion,
  );
  assert.ok(last?.type === "DELETED");
  assert.equal(last.object.metadata.resourceVersion, without.metadata.resourceVersion);
  assert.deepEqual(last.object.metadata.labels, { app: "x" });
});

test("a streaming list ends with its bookmark, and more bookmarks come every minute until the server ends the watch", async () => {
  const { clock, client } = fixture();
  await client.create(configMaps, configMap("a"));
  const { events, end } = record(client, { sendInitialEvents: true, timeoutSeconds: 200 });
  await clock.advance(150_000);
  await client.create(configMaps, configMap("b"));
  await clock.advance(60_000);
  assert.deepEqual(summary(events), ["A a", "B true", "B false", "B false", "A b", "B false"]);
  assert.equal(await end, "closed");
});

test("a watch resumes from a version without a gap, and is answered 410 once that is compacted", async () => {
  const { clock, server, client } = fixture();
  const { resourceVersion } = await client.list(configMaps);
  await client.create(configMaps, configMap("a"));
  await client.delete(configMaps, at("a"));
  const resumed = record(client, { resourceVersion });
  await clock.advance(0);
  assert.deepEqual(summary(resumed.events), ["A a", "D a"]);
  server.compact();
  const expired = record(client, { resourceVersion });
  await clock.advance(0);
  assert.ok(isGone(await expired.end));
  const current = record(client, { resourceVersion: (await client.list(configMaps)).resourceVersion });
  await client.create(configMaps, configMap("b"));
  await clock.advance(0);
  assert.deepEqual(summary(current.events), ["A b"]);
});

test("pages show the state of the first page, and expire with the history", async () => {
  const { server, client } = fixture();
  for (const name of ["a", "b", "c", "d"]) await client.create(configMaps, configMap(name));
  const first = await client.list<KubeObject>(configMaps, { limit: 2 });
  await client.delete(configMaps, at("c"));
  await client.create(configMaps, configMap("e"));
  const { continueToken } = first;
  const second = await client.list<KubeObject>(configMaps, { limit: 2, continueToken });
  assert.deepEqual(
    [...first.items, ...second.items].map(({ metadata }) => metadata.name),
    ["a", "b", "c", "d"],
  );
  assert.equal(second.resourceVersion, first.resourceVersion);
  assert.equal(second.continueToken, undefined);
  server.compact();
  await assert.rejects(client.list(configMaps, { limit: 2, continueToken }), isGone);
  const names: (string | undefined)[] = [];
  for await (const { metadata } of client.listAll<KubeObject>(configMaps, { limit: 1 }))
    names.push(metadata.name);
  assert.deepEqual(names, ["a", "b", "d", "e"]);
});

test("what a client gets is frozen, and what it sent can change without the store noticing", async () => {
  const { client } = fixture();
  const sent = configMap("a", { k: "v" });
  const answer = await client.create<KubeObject>(configMaps, sent);
  sent.data["k"] = "changed";
  assert.ok(Object.isFrozen(answer.metadata));
  assert.partialDeepStrictEqual(await client.get(configMaps, at("a")), { data: { k: "v" } });
});

test("a definition serves its resource, and takes it away when its last object is released", async () => {
  const { client } = fixture();
  await assert.rejects(client.list(widgets), isNotFound);
  assert.equal(await discoverResource(client, { group: widgets.group, kind: "Widget" }), undefined);
  await client.create(crds, definitionOf(widgets));
  assert.deepEqual(await discoverResource(client, { group: widgets.group, kind: "Widget" }), widgets);
  const object = {
    apiVersion: "model.klutch.dev/v1",
    kind: "Widget",
    metadata: { ...at("a"), finalizers: ["k.dev/f"] },
  };
  await client.create(widgets, object);
  await client.delete(crds, { name: "widgets.model.klutch.dev" });
  assert.equal((await client.list(widgets)).items.length, 1);
  await client.mergePatch(widgets, at("a"), { metadata: { finalizers: null } });
  await assert.rejects(client.list(widgets), isNotFound);
  assert.equal(await client.find(crds, { name: "widgets.model.klutch.dev" }), undefined);
});

test("a deleted namespace goes when its last object is released, and garbage goes with its owner", async () => {
  const { server, client } = fixture();
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  const held = { ...configMap("a"), metadata: { name: "a", namespace: "n", finalizers: ["k.dev/f"] } };
  await client.create(configMaps, held);
  await client.create(configMaps, { ...configMap("b"), metadata: { name: "b", namespace: "n" } });
  await client.delete(namespaces, { name: "n" });
  const inside = async (): Promise<number> =>
    (await client.list(configMaps, { namespace: "n" })).items.length;
  assert.equal(await inside(), 1);
  await client.mergePatch(configMaps, { namespace: "n", name: "a" }, { metadata: { finalizers: null } });
  assert.equal(await client.find(namespaces, { name: "n" }), undefined);
  const owner = await client.create<KubeObject>(configMaps, configMap("owner"));
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid ?? "" };
  await client.create<KubeObject>(configMaps, {
    ...configMap("owned"),
    metadata: { ...at("owned"), ownerReferences: [reference] },
  });
  server.collectGarbage();
  assert.equal(server.objects(configMaps).length, 2);
  await client.delete(configMaps, at("owner"));
  server.collectGarbage();
  assert.equal(server.objects(configMaps).length, 0);
});

test("a finalizer that comes while a delete is carried out does not keep the object, as on a real server", async () => {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const client = server.client({ clusterName: "test", deleteMs: () => 50 });
  await client.create(configMaps, configMap("a"));
  await client.create(configMaps, { ...configMap("held"), metadata: { ...at("held"), finalizers: ["x/y"] } });
  const deleted = Promise.all([client.delete(configMaps, at("a")), client.delete(configMaps, at("held"))]);
  await clock.advance(10);
  const late = await client.mergePatch<KubeObject>(configMaps, at("a"), {
    metadata: { finalizers: ["x/y"] },
  });
  assert.equal(late.metadata.deletionTimestamp, undefined);
  await clock.advance(50);
  assert.deepEqual(await deleted, [true, true]);
  assert.equal(await client.find(configMaps, at("a")), undefined);
  const held = await client.get<KubeObject>(configMaps, at("held"));
  assert.notEqual(held.metadata.deletionTimestamp, undefined);
});

test("a lost answer has taken effect, a lost request has not, and a refusal has neither effect nor doubt", async () => {
  const { client } = fixture(
    scripted([{ kind: "lost-answer" }, { kind: "lost-request" }, { kind: "error", status: 500 }]),
  );
  const isReset = (error: unknown): boolean => error instanceof TransportError && error.code === "Reset";
  for (const name of ["a", "b"]) await assert.rejects(client.create(configMaps, configMap(name)), isReset);
  await assert.rejects(client.create(configMaps, configMap("c")), /simulated 500/);
  const { items } = await client.list<KubeObject>(configMaps);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["a"],
  );
});

test("a request takes its latency both ways, waits as long as a 429 asks, and gives up on a partition after ten seconds", async () => {
  const faults = scripted(
    [undefined, { kind: "error", status: 429, retryAfterMs: 2_000 }, undefined, { kind: "partition" }],
    10,
  );
  const { clock, client } = fixture(faults);
  await clock.resolve(client.list(configMaps));
  assert.equal(clock.monotonic(), 20);
  await clock.resolve(client.list(configMaps));
  assert.ok(clock.monotonic() >= 2_060 && clock.monotonic() <= 2_460);
  const before = clock.monotonic();
  await assert.rejects(clock.resolve(client.list(configMaps)), { code: "Timeout" });
  assert.equal(clock.monotonic() - before, 10_000);
  const throttled = scripted(Array.from({ length: 5 }, () => ({ kind: "error", status: 429 }) as const));
  const other = fixture(throttled);
  await assert.rejects(other.clock.resolve(other.client.list(configMaps)), isTooManyRequests);
});

test("a partition silences a watch without closing it until the idle limit, and requests time out until it heals", async () => {
  const faults = seededFaults(1, { latencyMs: 2 });
  const { clock, server, client } = fixture(faults);
  const admin = server.client({ clusterName: "admin" });
  const { events, end } = record(client, { resourceVersion: "0", idleTimeoutMs: 90_000 });
  await clock.advance(10);
  faults.partition("model", true);
  await admin.create(configMaps, configMap("a"));
  await clock.advance(89_000);
  assert.deepEqual(events, []);
  await clock.advance(2_000);
  assert.ok((await end) instanceof WatchStalledError);
  await assert.rejects(clock.resolve(client.list(configMaps)), { code: "Timeout" });
  faults.partition("model", false);
  assert.equal((await clock.resolve(client.list(configMaps))).items.length, 1);
});

test("a watch event is delayed, doubled or the end of its connection, but never skipped", async () => {
  const deliveries = [
    "deliver",
    { delayMs: 500 },
    "deliver",
    "duplicate",
    "drop-connection",
    "deliver",
  ] as const;
  const script = [...deliveries];
  const { clock, client } = fixture({ ...scripted([]), onWatchEvent: () => script.shift() ?? "deliver" });
  const { events, end } = record(client, { resourceVersion: "0" });
  await clock.advance(0);
  for (const name of ["a", "b", "c", "d", "e", "f"]) await client.create(configMaps, configMap(name));
  await clock.advance(499);
  assert.deepEqual(summary(events), ["A a"]);
  await clock.advance(1);
  assert.deepEqual(summary(events), ["A a", "A b", "A c", "A d", "A d"]);
  assert.ok((await end) instanceof TransportError);
});

test("the connection breaks for everybody when the server restarts, and a signal ends a watch with its reason", async () => {
  const { clock, server, client } = fixture();
  const broken = record(client, { resourceVersion: "0" });
  await clock.advance(0);
  server.disconnect();
  assert.ok((await broken.end) instanceof TransportError);
  const controller = new AbortController();
  const aborted = record(client, { resourceVersion: "0", signal: controller.signal });
  await clock.advance(0);
  controller.abort(new Error("enough"));
  assert.match(String(await aborted.end), /enough/);
});

test("the guard is asked before each write, and losing the right cuts writes that are on their way", async () => {
  const controller = new AbortController();
  const guard: WriteGuard = {
    assertMayWrite() {
      if (controller.signal.aborted) throw new FencedError("no lease");
    },
    signal: controller.signal,
  };
  const { clock, client } = fixture(scripted([], 10), { writeGuard: guard });
  const write = assert.rejects(client.create(configMaps, configMap("a")), /lost/);
  clock.schedule(5, () => controller.abort(new Error("lost")));
  await clock.advance(5);
  await write;
  await assert.rejects(client.create(configMaps, configMap("b")), FencedError);
  assert.ok((await clock.resolve(client.list(configMaps))).items.length <= 1);
});

test("the same seeds give the same history, and other seeds another one", async () => {
  const history = async (seed: number): Promise<string> => {
    const rates = { error: 0.1, lostAnswer: 0.1, lostRequest: 0.1, watchDrop: 0.1, watchDelay: 0.2 };
    const { clock, server, client } = fixture(seededFaults(seed, rates));
    const { events } = record(client, { resourceVersion: "0" });
    const outcomes: string[] = [];
    const work = ["a", "b", "c", "d"].map(async (name) => {
      for (let round = 0; round < 5; round++) {
        const applied = client.apply(configMaps, configMap(name, { round: String(round) }), {
          fieldManager: "m",
        });
        outcomes.push(
          await applied.then(
            () => name,
            (error: unknown) => String(error),
          ),
        );
      }
    });
    await clock.resolve(Promise.all(work));
    return JSON.stringify([outcomes, events, server.objects(configMaps), clock.monotonic()]);
  };
  assert.equal(await history(1), await history(1));
  assert.notEqual(await history(1), await history(2));
});

test("stopped faults let everything through, and a conflict of two managers names the owner", async () => {
  const faults = seededFaults(3, { error: 1, watchDrop: 1 });
  const { clock, client } = fixture(faults);
  await assert.rejects(clock.resolve(client.get(configMaps, at("a"))));
  faults.stop();
  const apply = (fieldManager: string, value: string) =>
    clock.resolve(client.apply(configMaps, configMap("a", { k: value }), { fieldManager }));
  await apply("one", "1");
  await assert.rejects(
    apply("two", "2"),
    (error) => isConflict(error) && error.message.includes('conflict with "one": .data.k'),
  );
});
