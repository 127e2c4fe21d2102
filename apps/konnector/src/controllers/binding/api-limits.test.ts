import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiLimit } from "@klutch/api";
import { seededRandom, VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { defaultTiming } from "../../clusters.ts";
import { konnectorMetrics } from "../../counters.ts";
import { ApiLimits } from "./api-limits.ts";

const api = "widgets.example.org";

interface Fixture extends AsyncDisposable {
  readonly limits: ApiLimits;
  readonly clock: VirtualClock;
  /** Limits as they were reported, each with its time in milliseconds. */
  readonly reports: readonly (readonly [number, ApiLimit | undefined])[];
  readonly woken: readonly string[];
  /** Sets the number of upstream objects that the caches show. */
  readonly count: (count: number) => void;
  readonly told: (limit: ApiLimit | undefined) => void;
}

function start(): Fixture {
  const clock = new VirtualClock();
  const reports: (readonly [number, ApiLimit | undefined])[] = [];
  const woken: string[] = [];
  let shown = 0;
  const began = clock.monotonic();
  const limits = new ApiLimits({
    status: {
      reportLimit: (key, limit) => {
        assert.equal(key, `klutch-bind/${api}`);
        reports.push([clock.monotonic() - began, limit]);
      },
    },
    runtime: {
      logger: silentLogger,
      metrics: konnectorMetrics(createMetrics()),
      clock,
      random: seededRandom(1),
      timing: defaultTiming,
    },
    bindingKeyOf: (name) => (name === api ? `klutch-bind/${api}` : undefined),
    count: () => shown,
    wake: (_api, keys) => void woken.push(...keys),
  });
  const hold = limits.holdOf(api, "widgets");
  const stop = new AbortController();
  const running = limits.start({ signal: stop.signal });
  limits.setBound([api]);
  return {
    limits,
    clock,
    reports,
    woken,
    count: (count) => {
      shown = count;
      hold.counted();
    },
    told: (limit) => limits.set(new Map(limit === undefined ? [] : [[api, limit]])),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test("nothing is said of an API before the provider was read, and then once that it has no limit", async () => {
  await using fixture = start();
  const { clock, reports, count, told } = fixture;
  await clock.advance(5_000);
  assert.deepEqual(reports, []);
  told(undefined);
  await clock.advance(1_000);
  assert.deepEqual(reports, [[5_000, undefined]], "an earlier process may have shown one");
  for (const number of [1, 2, 3]) count(number);
  for (let beat = 0; beat < 5; beat++) told(undefined);
  await clock.advance(60_000);
  assert.equal(reports.length, 1);
});

test("the larger number counts: the provider's may be late, and the caches do not show everything", async () => {
  await using fixture = start();
  const { clock, reports, count, told } = fixture;
  told({ max: 9, used: 5, contact: "Ann" });
  await clock.advance(2_000);
  count(3);
  await clock.advance(2_000);
  count(7);
  await clock.advance(2_000);
  assert.deepEqual(
    reports.map(([, limit]) => limit),
    [
      { max: 9, used: 5, contact: "Ann" },
      { max: 9, used: 7, contact: "Ann" },
    ],
  );
});

test("a burst is written once a second, and at once when the limit is reached or left", async () => {
  await using fixture = start();
  const { clock, reports, count, told } = fixture;
  told({ max: 100, used: 0 });
  for (let number = 1; number <= 100; number++) {
    await clock.advance(30);
    count(number);
  }
  await clock.advance(150);
  assert.ok(reports.length <= 6, `${reports.length} writes for a burst of three seconds`);
  assert.deepEqual(reports.at(-1)?.[1], { max: 100, used: 100 });
  count(99);
  await clock.advance(150);
  assert.deepEqual(reports.at(-1)?.[1], { max: 100, used: 99 });
  const before = reports.length;
  for (let turn = 0; turn < 100; turn++) {
    count(turn % 2 === 0 ? 100 : 99);
    await clock.advance(10);
  }
  assert.ok(reports.length - before <= 12, "objects that come and go in turn do not make a write each");
});

test("a limit that is raised, changed or lifted is shown, and claims that wait are sent again", async () => {
  await using fixture = start();
  const { clock, reports, woken, told, limits } = fixture;
  told({ max: 3, used: 3 });
  await clock.advance(200);
  limits.holdOf(api, "widgets").refused("app/one", "Exceeded");
  await clock.advance(200);
  told({ max: 4, used: 3, contact: "Ann" });
  await clock.advance(200);
  assert.ok(woken.includes("app/one"));
  assert.equal(limits.holdOf(api, "widgets").wordsFor("app/one"), undefined);
  told(undefined);
  await clock.advance(200);
  assert.deepEqual(
    reports.map(([, limit]) => limit),
    [{ max: 3, used: 3 }, { max: 4, used: 3, contact: "Ann" }, undefined],
  );
});

test("10,000 refused claims of a provider that says nothing of a limit are sent again one at a time, ever more slowly", async () => {
  await using fixture = start();
  const { clock, woken, told, limits } = fixture;
  told(undefined);
  const hold = limits.holdOf(api, "widgets");
  for (let index = 0; index < 10_000; index++) hold.refused(`app/${index}`, "Exceeded");
  await clock.advance(0);
  for (let second = 0; second < 300; second++) {
    const before = woken.length;
    await clock.advance(1_000);
    for (const key of woken.slice(before)) hold.refused(key, "Exceeded");
  }
  assert.ok(woken.length >= 10 && woken.length <= 20, `${woken.length} attempts in five minutes`);
});
