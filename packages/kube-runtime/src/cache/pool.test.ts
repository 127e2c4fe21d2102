/** Tests faults that no real server produces on demand: lists that are too long, and a watch that ends because the schema changed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, type KubeClient, systemRandom, type WatchEvent } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { fakeClient, seededRandom, VirtualClock, waitFor } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { CachePool } from "./pool.ts";
import type { DigestRules, ObjectDigest } from "./digested-object.ts";

const widgets: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
const clock = {
  now: () => 0,
  monotonic: () => 0,
  sleep: () => Promise.resolve(),
  schedule: () => () => {},
};

function object(name: string, resourceVersion: string, spec: object = {}): DynamicObject {
  const metadata = { namespace: "a", name, resourceVersion, uid: name };
  return { apiVersion: "example.org/v1", kind: "Widget", metadata, spec };
}

/** Lists these one after the other, the last again and again; each watch shows its events and then ends as the number says. */
function clientOf(
  lists: readonly (readonly DynamicObject[])[],
  watches: readonly { readonly events: readonly DynamicObject[]; readonly end: "closed" | "410" }[],
): KubeClient {
  let listed = 0;
  let watched = 0;
  return fakeClient({
    list: () => {
      const items = lists[Math.min(listed++, lists.length - 1)] ?? [];
      return Promise.resolve({ items, resourceVersion: "10", length: 0 });
    },
    async *watch(options): AsyncGenerator<WatchEvent<DynamicObject>> {
      const script = watches[watched++];
      for (const item of script?.events ?? []) yield { type: "MODIFIED", object: item };
      if (script?.end === "closed") return;
      if (script?.end === "410") throw new ApiError({ status: 410, reason: "Expired", message: "too old" });
      const { promise, resolve } = Promise.withResolvers<void>();
      options?.signal?.addEventListener("abort", () => resolve(), { once: true });
      await promise;
    },
  });
}

const rules: DigestRules<ObjectDigest> = {
  digest: ({ metadata, spec, status }) => ({
    metadata,
    content: JSON.stringify(spec),
    status: JSON.stringify(status),
  }),
  strip: (object) => object,
  isMarked: () => false,
};

const poolOf = (client: KubeClient, onLimit?: (message: string | undefined) => void): CachePool =>
  new CachePool({ client, onLimit, logger: silentLogger, clock, random: systemRandom });

test("what a watch had shown through an older schema is read again when the server closes it, at the same version", async () => {
  const pruned = object("one", "11", { size: 1 });
  const whole = object("one", "11", { size: 1, color: 2 });
  const other = object("two", "9");
  const client = clientOf(
    [
      [object("one", "8"), other],
      [whole, other],
    ],
    [{ events: [pruned], end: "closed" }],
  );
  await using pool = poolOf(client);
  await using handle = pool.acquire({ type: widgets });
  await using digests = pool.acquireDigested({ type: { ...widgets, plural: "others" } }, rules);
  const changed: string[] = [];
  await handle.cache.informer.whenSynced();
  using _changes = handle.cache.informer.onChange(
    ({ key }, isInInitialList) => !isInInitialList && changed.push(key),
  );
  await waitFor("the whole object", () => handle.cache.get("a/one")?.spec === whole.spec);
  assert.deepEqual(changed, ["a/one", "a/one"]);
  assert.equal(digests.cache.informer.type.plural, "others");
});

test("waiting for a cache ends with the signal, also with one that has ended before", {
  timeout: 5_000,
}, async () => {
  const client = fakeClient({ list: () => Promise.reject(new Error("the server is away")) });
  const options = { client, clock: new VirtualClock(), random: systemRandom, logger: silentLogger };
  await using pool = new CachePool(options);
  await using handle = pool.acquire({ type: widgets });
  const { informer } = handle.cache;
  await assert.rejects(informer.whenSynced({ signal: AbortSignal.abort() }), /stopped waiting .* widgets/);
  await assert.rejects(
    informer.whenSynced({ signal: AbortSignal.timeout(10) }),
    /stopped waiting .* widgets/,
  );
});

test("a built-in resource, whose schema does not change, is resumed where it was", async () => {
  const secrets = { ...widgets, group: "", plural: "secrets", kind: "Secret" };
  const client = clientOf(
    [[object("one", "8")], [object("never", "8")]],
    [
      { events: [], end: "closed" },
      { events: [object("one", "12")], end: "closed" },
    ],
  );
  await using pool = poolOf(client);
  await using handle = pool.acquire({ type: secrets });
  await waitFor("the second watch", () => handle.cache.get("a/one")?.metadata.resourceVersion === "12");
  assert.equal(handle.cache.get("a/never"), undefined);
});

test("of too many objects those that came first are held, and the pool says so until a list is short enough", async () => {
  const many = ["one", "two", "three", "four"].map((name) => object(name, "8"));
  const reports: (string | undefined)[] = [];
  const client = clientOf([many, many.slice(0, 2)], [{ events: [object("five", "12")], end: "410" }]);
  await using pool = poolOf(client, (message) => reports.push(message));
  await using handle = pool.acquire({ type: widgets, namespace: "a", maxObjects: 3 });
  await handle.cache.informer.whenSynced();
  assert.equal(handle.cache.informer.size, 3);
  await waitFor("the shorter list", () => reports.length === 2);
  assert.match(reports[0] ?? "", /^a: there are more than 3 widgets\.example\.org/);
  assert.equal(reports[1], undefined);
  assert.equal(handle.cache.informer.size, 2);
});

test("an object that no cache may hold is named, and one for which too little memory is left is counted", async () => {
  const small = object("small", "8");
  const deep = Array.from({ length: 300 }).reduce<unknown>((inner) => [inner], 7);
  for (const [heavy, maxWeight, expected] of [
    [
      object("deep", "8", { deep }),
      1e9,
      /^a: a\/deep of widgets\.example\.org takes more than 8 MiB .* in more than 200 levels, so it/,
    ],
    [
      object("long", "8", { text: "x".repeat(9e6) }),
      1e9,
      /a\/long of widgets\.example\.org takes more than 8 MiB/,
    ],
    [
      object("rest", "8", { text: "x".repeat(2e6) }),
      1024 * 1024,
      /^a: there are more than 1 MiB of widgets\.example\.org/,
    ],
  ] as const) {
    const reports: (string | undefined)[] = [];
    const client = clientOf([[small, heavy]], [{ events: [], end: "410" }]);
    const onLimit = (message: string | undefined): void => void reports.push(message);
    await using pool = new CachePool({
      client,
      onLimit,
      maxWeight,
      logger: silentLogger,
      clock,
      random: systemRandom,
    });
    await using handle = pool.acquire({ type: widgets, namespace: "a", maxObjects: 3 });
    await handle.cache.informer.whenSynced();
    assert.match(reports[0] ?? "", expected);
    assert.deepEqual([...handle.cache.informer.list()], [small]);
  }
});

test("a cache that waits after a failure tries again at once when it is told to, and else waits longer each time", async () => {
  const virtual = new VirtualClock();
  let asked = 0;
  let isRefused = true;
  const silent = clientOf([], []);
  const client = fakeClient({
    list: () => {
      asked++;
      const refusal = new ApiError({ status: 401, reason: "Unauthorized", message: "no" });
      if (isRefused) return Promise.reject(refusal);
      return Promise.resolve({ items: [object("w", "1")], resourceVersion: "10", length: 0 });
    },
    watch: (options) => silent.watch(widgets, options),
  });
  // The same waits in each run.
  const options = { client, clock: virtual, random: () => 0.5, logger: silentLogger };
  await using pool = new CachePool(options);
  const handle = pool.acquire({ type: widgets, namespace: "a" });
  await virtual.advance(60_000);
  const before = asked;
  assert.ok(before >= 4 && before <= 9, `asked ${before} times`);
  pool.retryNow();
  await virtual.advance(1);
  assert.equal(asked, before + 1);
  await virtual.advance(1_000);
  assert.equal(asked, before + 1);
  isRefused = false;
  pool.retryNow();
  await virtual.advance(1);
  assert.equal(handle.cache.informer.synced, true);
  pool.retryNow();
  await virtual.advance(60_000);
  assert.equal(asked, before + 2);
});

test("after a long outage all caches follow the first one that gets through, and not at the same moment", async () => {
  const virtual = new VirtualClock();
  let isAway = true;
  const asked: number[] = [];
  const silent = clientOf([], []);
  const client = fakeClient({
    list: (type, options) => {
      asked.push(virtual.monotonic());
      const isRefused = type.plural === "refused";
      if (isAway || isRefused)
        return Promise.reject(new ApiError({ status: isRefused ? 403 : 503, reason: "", message: "no" }));
      return silent.list(type, options);
    },
    watch: (options) => silent.watch(widgets, options),
  });
  await using pool = new CachePool({ client, clock: virtual, random: seededRandom(1), logger: silentLogger });
  const plurals = ["a", "b", "c", "d", "e", "f", "g", "h", "refused"];
  const handles = plurals.map((plural) => pool.acquire({ type: { ...widgets, plural } }));
  const isSynced = (): readonly boolean[] => handles.map(({ cache }) => cache.informer.synced);
  await virtual.advance(600_000);
  isAway = false;
  let firstAt: number | undefined;
  const backAt = virtual.monotonic();
  while (isSynced().filter((one) => one).length < 8 && virtual.monotonic() < backAt + 60_000) {
    await virtual.advance(100);
    if (isSynced().includes(true)) firstAt ??= virtual.monotonic();
  }
  assert.deepEqual(isSynced(), [...Array.from({ length: 8 }, () => true), false]);
  assert.ok(
    firstAt !== undefined && virtual.monotonic() - firstAt <= 2_100,
    `${virtual.monotonic() - (firstAt ?? 0)} ms`,
  );
  const moments = asked.filter((at) => at >= backAt).map((at) => Math.round(at));
  assert.ok(new Set(moments).size >= 8, moments.join());
});

test("a right that is taken away from an open watch is found by a list of one object, and its return as well", async () => {
  const virtual = new VirtualClock();
  const asked: unknown[] = [];
  let answer: Error | undefined;
  const silent = clientOf([], []);
  const client = fakeClient({
    list: (_type, options) => {
      asked.push(options?.limit);
      if (options?.limit === 1 && answer !== undefined) return Promise.reject(answer);
      return Promise.resolve({ items: [object("w", "1")], resourceVersion: "10", length: 0 });
    },
    watch: (options) => silent.watch(widgets, options),
  });
  await using pool = new CachePool({ client, clock: virtual, random: () => 0.5, logger: silentLogger });
  const handle = pool.acquireDigested({ type: widgets, labelSelector: "a=b" }, rules);
  await handle.cache.informer.whenSynced();
  asked.length = 0;
  const { signal } = new AbortController();
  const failures = async (afterMs: number): Promise<readonly string[]> => {
    await virtual.advance(afterMs);
    await pool.checkRights(20_000, signal);
    return pool.failures().map(({ resource }) => resource);
  };
  assert.deepEqual(await failures(0), []);
  answer = new ApiError({ status: 403, reason: "Forbidden", message: "no" });
  assert.deepEqual(await failures(19_000), [], "not asked again yet");
  assert.deepEqual(await failures(1_000), ["widgets.example.org"]);
  answer = new ApiError({ status: 503, reason: "ServiceUnavailable", message: "later" });
  assert.deepEqual(await failures(3_000), ["widgets.example.org"], "no answer about rights");
  answer = undefined;
  assert.deepEqual(await failures(3_000), []);
  assert.deepEqual(asked, [1, 1, 1, 1]);
});
