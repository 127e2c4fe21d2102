/** The one writer of a binding's status, against the model of an API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindings, consumerNamespace } from "@klutch/api";
import { type DynamicObject, keyOf, namespaces, recordAt, refOf, trueCondition } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { CachePool } from "@klutch/kube-runtime";
import {
  ApiServerModel,
  namespaceObject,
  objectOfType,
  seededRandom,
  VirtualClock,
} from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { defaultTiming } from "../../clusters.ts";
import { konnectorMetrics } from "../../counters.ts";
import type { Digest } from "@klutch/sync";
import { BindingStatus } from "./binding-status.ts";

interface Fixture extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly status: BindingStatus;
  readonly metrics: { text(): Promise<string> };
  readonly client: KubeClient;
  /** Creates a binding that the cache then shows, and returns its key. */
  readonly create: (name: string) => Promise<string>;
  readonly writes: () => number;
}

/** Starts the writer; `isNew` is false for a server whose CRD of an earlier release drops the time of the heartbeat and the limit. */
async function start(isNew = true): Promise<Fixture> {
  const stack = new AsyncDisposableStack();
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  let writes = 0;
  server.register({
    type: apiServiceBindings,
    statusSubresource: true,
    prepare: (next) => {
      writes++;
      const { lastHeartbeatTime: _, limit: __, ...rest } = (next["status"] ?? {}) as Record<string, never>;
      return isNew || next["status"] === undefined ? next : { ...next, status: rest };
    },
  });
  const client = server.client({ clusterName: "app cluster" });
  await client.create(namespaces, namespaceObject(consumerNamespace));
  const metrics = createMetrics();
  const random = seededRandom(1);
  const pool = stack.use(new CachePool<Digest>({ client, logger: silentLogger, clock, random }));
  const { cache } = stack.use(pool.acquire({ type: apiServiceBindings }));
  const cluster = { side: "binding", client, pool, bindingType: apiServiceBindings } as const;
  const runtime = {
    logger: silentLogger,
    metrics: konnectorMetrics(metrics),
    clock,
    random,
    timing: defaultTiming,
  };
  const status = new BindingStatus(cluster, cache, runtime);
  const stop = new AbortController();
  const running = status.start({ signal: stop.signal });
  stack.defer(async () => {
    stop.abort();
    await running;
  });
  await clock.advance(10);
  return {
    clock,
    status,
    metrics,
    client,
    create: async (name) => {
      const metadata = { namespace: consumerNamespace, name, finalizers: ["example.org/held"] };
      const binding = await client.create<DynamicObject>(
        apiServiceBindings,
        objectOfType(apiServiceBindings, metadata, { spec: {} }),
      );
      await clock.advance(10);
      return keyOf(binding);
    },
    writes: () => writes,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Reports a heartbeat each minute for five minutes. Returns how many writes that made. */
async function beat({ clock, status, writes }: Fixture, key: string): Promise<number> {
  const before = writes();
  for (let minute = 0; minute < 5; minute++) {
    status.reportHeartbeat(key, clock.now());
    await clock.advance(60_000);
  }
  return writes() - before;
}

test("a server that drops the time of the heartbeat gets it once, and each minute no more", async () => {
  await using fixture = await start(false);
  const { clock, status, writes } = fixture;
  const key = await fixture.create("old");
  assert.equal(await beat(fixture, key), 1);
  const before = writes();
  status.report(key, trueCondition("Connected"));
  await clock.advance(60_000);
  assert.equal(writes(), before + 1);
});

test("a server that keeps the time of the heartbeat gets it each minute", async () => {
  await using fixture = await start();
  assert.equal(await beat(fixture, await fixture.create("new")), 5);
});

const limitOf = async ({ client, clock }: Fixture, key: string): Promise<unknown> => {
  await clock.advance(100);
  const binding = await client.get<DynamicObject>(apiServiceBindings, refOf(key));
  return recordAt(binding.status)["limit"];
};

test("the limit is written when it changes, and gone with its contact when there is none", async () => {
  await using fixture = await start();
  const { status, writes } = fixture;
  const key = await fixture.create("limited");
  for (const limit of [
    { max: 3, used: 1, contact: "Ann" },
    { max: 3, used: 2 },
    { max: 0, used: 2 },
  ]) {
    status.reportLimit(key, limit);
    assert.deepEqual(await limitOf(fixture, key), limit);
  }
  const before = writes();
  status.reportLimit(key, { max: 0, used: 2 });
  await limitOf(fixture, key);
  assert.equal(writes(), before, "nothing has changed");
  status.reportLimit(key, undefined);
  assert.equal(await limitOf(fixture, key), undefined);
  assert.equal(writes(), before + 1);
});

test("a limit of an earlier process stays until the provider is heard, and then goes; without one there is no write", async () => {
  await using fixture = await start();
  const { status, client, clock, writes } = fixture;
  const key = await fixture.create("limited");
  status.report(key, trueCondition("Connected"));
  await clock.advance(100);
  const left = { status: { limit: { max: 1, used: 1 } } };
  await client.mergePatch(apiServiceBindings, refOf(key), left, { subresource: "status" });
  status.report(key, trueCondition("Heartbeating"));
  assert.deepEqual(await limitOf(fixture, key), left.status.limit);
  status.reportLimit(key, undefined);
  assert.equal(await limitOf(fixture, key), undefined);
  const before = writes();
  const other = await fixture.create("unlimited");
  status.reportLimit(other, undefined);
  await clock.advance(100);
  assert.equal(writes(), before + 2, "the binding was created, and its first conditions");
});

test("a server that drops the limit gets it once", async () => {
  await using fixture = await start(false);
  const { status, clock, writes } = fixture;
  const key = await fixture.create("old");
  status.reportLimit(key, { max: 3, used: 0 });
  await clock.advance(100);
  const before = writes();
  for (let used = 1; used < 10; used++) {
    status.reportLimit(key, { max: 3, used });
    await clock.advance(1_000);
  }
  assert.equal(writes(), before);
});

test("the metric counts bindings by their state", async () => {
  await using fixture = await start();
  const { clock, client } = fixture;
  const namespace = consumerNamespace;
  for (const name of ["one", "two", "three", "four"]) await fixture.create(name);
  const counts = async (): Promise<readonly string[]> =>
    (await fixture.metrics.text()).split("\n").filter((line) => line.startsWith("klutch_bindings{"));
  const ready = {
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  };
  for (const name of ["one", "two"])
    await client.mergePatch(
      apiServiceBindings,
      { namespace, name },
      { status: ready },
      { subresource: "status" },
    );
  await client.delete(apiServiceBindings, { namespace, name: "two" });
  await clock.advance(10);
  assert.deepEqual(await counts(), [
    'klutch_bindings{state="ready"} 1',
    'klutch_bindings{state="not_ready"} 2',
    'klutch_bindings{state="unbinding"} 1',
  ]);
});
