import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type ProviderConfig, providerConfigs } from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import type { KubeClient, Random } from "@klutch/kube";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { createManagers } from "../backup-manager/managers.ts";
import { createBrokers } from "../broker/brokers.ts";
import { healthOnConfigs } from "../claims/events.ts";
import { createHealthReconcile } from "./health.ts";
import { http, type RawBackend, startRawBackend } from "../testing/raw-backend.ts";

const name = "a-broker";
const bad = http(503, '{"error":"Down","description":"later"}');

interface Checked {
  readonly clock: VirtualClock;
  readonly client: KubeClient;
  readonly backend: RawBackend;
  readonly events: readonly string[];
  /** Reconciles once, with what the API server has now; gives back how long it waits until the next time. */
  readonly run: () => Promise<number | undefined>;
  readonly get: () => Promise<ProviderConfig>;
  /** Status, reason, message and time of the condition. */
  readonly healthy: () => Promise<readonly (string | undefined)[]>;
}

async function start(t: TestContext, random: Random = () => 0): Promise<Checked> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const backend = stack.use(await startRawBackend());
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  server.register({ type: providerConfigs, statusSubresource: true });
  const client = server.client({ clusterName: "provider" });
  await client.create<ProviderConfig>(providerConfigs, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name },
    spec: {
      url: backend.url,
      serviceType: "servicebroker",
      healthCheckEndpoint: "/healthy",
      providerCredentials: { source: "None", username: {}, password: {} },
    },
  });
  let seen: ProviderConfig | undefined;
  const source = {
    client,
    env: {},
    configs: { get: () => seen, notFound: () => "none" },
    clock,
    metrics: createMetrics(),
  };
  const events: string[] = [];
  const recorder = {
    record: (_about: unknown, type: string, reason: string, message: string) => {
      events.push(`${type} ${reason}: ${message}`);
      return Promise.resolve();
    },
    recordWarning: (_about: unknown, reason: string, message: string) =>
      void events.push(`Warning ${reason}: ${message}`),
  };
  const reconcile = createHealthReconcile({
    brokers: stack.use(createBrokers(source)),
    managers: stack.use(createManagers(source)),
    client,
    informer: { type: providerConfigs, get: () => seen },
    clock,
    random,
    onHealth: healthOnConfigs(recorder),
  });
  const get = (): Promise<ProviderConfig> => client.get<ProviderConfig>(providerConfigs, { name });
  return {
    clock,
    client,
    backend,
    events,
    get,
    run: async () => {
      seen = await client.find<ProviderConfig>(providerConfigs, { name });
      const result = await reconcile(name, { signal: new AbortController().signal, logger: silentLogger });
      return result === undefined ? undefined : result.requeueAfterMs;
    },
    healthy: async () => {
      const found = findCondition((await get()).status?.conditions, "Healthy");
      return [found?.status, found?.reason, found?.message, found?.lastTransitionTime];
    },
  };
}

test("a backend that turns bad and good again has one event for each turn, and none while it stays", async (t) => {
  const { run, get, healthy, events, clock, backend } = await start(t);
  assert.equal(await run(), 180_000);
  const first = (await get()).status?.health?.lastCheckTime ?? "";
  assert.deepEqual(await healthy(), ["True", "Available", undefined, first]);
  assert.deepEqual(events, ["Normal CheckSuccess: ProviderConfig is now healthy"]);
  await clock.advance(180_000);
  await run();
  assert.deepEqual(await healthy(), ["True", "Available", undefined, first]);
  backend.answer = bad;
  await clock.advance(180_000);
  assert.equal(await run(), 2_000);
  const message = "HTTP 503: Down: later";
  const { health } = (await get()).status ?? {};
  const turned = health?.lastCheckTime ?? "";
  assert.deepEqual(health, { lastCheckTime: turned, lastStatus: false, lastMessage: message });
  assert.deepEqual(await healthy(), ["False", "BrokerUnreachable", message, turned]);
  await clock.advance(2_000);
  await run();
  assert.deepEqual(await healthy(), ["False", "BrokerUnreachable", message, turned]);
  backend.answer = http(200);
  await clock.advance(2_000);
  await run();
  assert.equal((await healthy())[0], "True");
  assert.deepEqual(events.slice(1), [
    `Warning CheckFailure: Health check failed: ${message}`,
    "Normal CheckSuccess: ProviderConfig is now healthy",
  ]);
});

/** Lets a bad backend be checked until `ms` have passed; gives back the waits between the checks. */
async function waits({ run, clock }: Checked, ms: number): Promise<readonly number[]> {
  const end = clock.monotonic() + ms;
  const seen: number[] = [];
  while (clock.monotonic() < end) {
    const wait = (await run()) ?? 0;
    seen.push(wait);
    await clock.advance(wait);
  }
  return seen;
}

const minute = 60_000;

test("a backend that turned bad is asked again soon, then after a tenth of that time, and every half minute in the end", async (t) => {
  const checked = await start(t);
  checked.backend.answer = bad;
  const first = await waits(checked, 20_000);
  assert.deepEqual(new Set(first), new Set([2_000]));
  const growing = await waits(checked, 10 * minute);
  assert.deepEqual(
    growing,
    growing.toSorted((a, b) => a - b),
  );
  assert.deepEqual(new Set(await waits(checked, 10 * minute)), new Set([30_000]));
  assert.ok(checked.backend.asked.length < 75, `${checked.backend.asked.length} questions in 20 minutes`);
});

test("that it says something else each time makes it no newer, but another spec does", async (t) => {
  const checked = await start(t);
  const { backend, client, run } = checked;
  for (let minutes = 0; minutes < 10; minutes++) {
    backend.answer = http(503, `{"error":"Down","description":"request ${minutes}"}`);
    await waits(checked, minute);
  }
  assert.equal((await waits(checked, 1)).at(0), 30_000);
  await client.mergePatch(providerConfigs, { name }, { spec: { healthCheckEndpoint: "/other" } });
  assert.equal(await run(), 2_000);
});

test("a backend that turns bad again is asked soon again, and waits differ a little", async (t) => {
  const checked = await start(t, () => 1);
  checked.backend.answer = bad;
  assert.equal((await waits(checked, 10 * minute)).at(-1), 36_000);
  checked.backend.answer = http(200);
  assert.equal(await checked.run(), 180_000);
  await checked.clock.advance(180_000);
  checked.backend.answer = bad;
  assert.equal(await checked.run(), 2_400);
});

test("between two checks nothing is asked and nothing written", async (t) => {
  const { run, get, clock, backend } = await start(t);
  await run();
  const { metadata } = await get();
  await clock.advance(100_000);
  assert.equal(await run(), 80_000);
  assert.equal(backend.asked.length, 1);
  assert.equal((await get()).metadata.resourceVersion, metadata.resourceVersion);
});

test("a changed spec, and a person who asks for it, are checked at once", async (t) => {
  const { run, client, backend } = await start(t);
  await run();
  await client.mergePatch(providerConfigs, { name }, { spec: { healthCheckEndpoint: "/other" } });
  await run();
  assert.match(backend.asked.at(-1) ?? "", /^GET \/other /);
  assert.equal(await run(), 180_000);
  assert.equal(backend.asked.length, 2);
  for (const lastCheckTime of [null, "2099-01-01T00:00:00Z"]) {
    const asked: number = backend.asked.length;
    const body = { status: { health: { lastCheckTime } } };
    await client.mergePatch(providerConfigs, { name }, body, { subresource: "status" });
    await run();
    assert.equal(backend.asked.length, asked + 1);
  }
});

test("what somebody else writes into the status meanwhile stays, and the backend is not asked again", async (t) => {
  const { run, client, backend, clock, get } = await start(t);
  backend.answer = undefined;
  const running = run();
  await backend.whenAsked(1);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const other = { type: "Terminating", status: "True", reason: "InUse", lastTransitionTime };
  const body = { status: { users: 3, conditions: [other] } };
  await client.mergePatch(providerConfigs, { name }, body, { subresource: "status" });
  await clock.advance(10_000);
  await running;
  const { status } = await get();
  assert.deepEqual(findCondition(status?.conditions, "Terminating"), other);
  assert.equal(findCondition(status?.conditions, "Healthy")?.message, "no answer within 10 s");
  assert.equal(status?.users, 3);
  assert.equal(backend.asked.length, 1);
});

test("a ProviderConfig that goes while its backend is asked, or comes back as another one, is left alone", async (t) => {
  const { run, client, backend, clock, get, events } = await start(t);
  const { spec, apiVersion, kind } = await get();
  backend.answer = undefined;
  for (const again of [false, true]) {
    const asked: number = backend.asked.length;
    const running = run();
    await backend.whenAsked(asked + 1);
    await client.delete(providerConfigs, { name });
    const anew = { apiVersion, kind, metadata: { name }, spec };
    if (again) await client.create<ProviderConfig>(providerConfigs, anew);
    await clock.advance(10_000);
    await running;
    if (!again) await client.create<ProviderConfig>(providerConfigs, anew);
    assert.equal((await get()).status?.health, undefined);
  }
  assert.deepEqual(events, []);
});
