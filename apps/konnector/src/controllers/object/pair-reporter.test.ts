import assert from "node:assert/strict";
import { test } from "node:test";
import { TransportError } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import type { Step } from "@klutch/sync";
import type { RuntimeDependencies } from "../../clusters.ts";
import { PairReporter } from "./pair-reporter.ts";
import type { PairObservation } from "./pair-store.ts";

const type = { group: "example.org", version: "v1", plural: "widgets", kind: "Widget", namespaced: true };
const key = "app/w";
const claim: DynamicObject = {
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { namespace: "app", name: "w" },
};
const pair = {
  placed: { key },
  consumer: claim,
  provider: { ...claim, status: {} },
  mapping: { state: "missing" },
} as unknown as PairObservation;
const status: Step = { do: "writeStatus", ref: { namespace: "app", name: "w" }, uid: "u", status: {} };

function start(): {
  readonly reporter: PairReporter;
  readonly clock: VirtualClock;
  readonly recorded: string[];
  readonly lags: number[];
} {
  const clock = new VirtualClock();
  const recorded: string[] = [];
  const lags: number[] = [];
  const metrics = { lag: { labels: () => ({ observe: (seconds: number) => lags.push(seconds) }) } };
  const runtime = {
    clock,
    metrics,
    timing: { recordAfterMs: 5_000, overdueAfterMs: 1_000 },
  } as unknown as RuntimeDependencies;
  const events = {
    recordRoutine: (_about: unknown, reason: string) => void recorded.push(reason),
    record: (_about: unknown, _type: unknown, reason: string) => Promise.resolve(void recorded.push(reason)),
    recordWarning: () => undefined,
  };
  return { reporter: new PairReporter({ type, events, runtime }), clock, recorded, lags };
}

test("how long a pair differed is measured once, from the first time that it was seen", async () => {
  const { reporter, clock, lags } = start();
  reporter.synced(key);
  reporter.differs(key, clock.monotonic());
  await clock.advance(2_000);
  reporter.differs(key, clock.monotonic());
  reporter.synced(key);
  reporter.synced(key);
  assert.deepEqual(lags, [2]);
});

test("a pair that is gone is not measured, and its next first status is recorded again", () => {
  const { reporter, recorded, lags } = start();
  reporter.differs(key, 0);
  reporter.carriedOut(pair, status);
  reporter.carriedOut(pair, status);
  assert.deepEqual(recorded, ["Synced"]);
  reporter.forget(key);
  reporter.synced(key);
  reporter.carriedOut(pair, status);
  assert.deepEqual([recorded.length, lags.length], [2, 0]);
});

test("a wait is recorded when it is long, and begins anew after the pair waited for nothing", async () => {
  const { reporter, clock, recorded } = start();
  const wait = (): Promise<unknown> => reporter.waits(pair, claim, "providerDeletion");
  reporter.differs(key, 0);
  assert.deepEqual(await wait(), { requeueAfterMs: 5_000 });
  await clock.advance(3_000);
  assert.deepEqual(await wait(), { requeueAfterMs: 2_000 });
  reporter.stopsWaiting(key);
  assert.deepEqual(await wait(), { requeueAfterMs: 5_000 });
  await clock.advance(5_000);
  assert.equal(await wait(), undefined);
  assert.deepEqual(recorded, ["WaitingForDeletion"]);
});

test("a failure that may pass by itself is recorded with the third attempt, counted until the pair is in sync", async () => {
  const { reporter, recorded } = start();
  const fail = (): Promise<void> => reporter.failed(pair, status, new TransportError("Reset", "cut off"));
  reporter.differs(key, 0);
  await fail();
  await fail();
  reporter.synced(key);
  reporter.differs(key, 0);
  await fail();
  await fail();
  assert.deepEqual(recorded, []);
  await fail();
  assert.deepEqual(recorded, ["WaitingForConnection"]);
});

test("a claim that nobody answers is overdue after a second, and not before somebody waits again when it was answered", async () => {
  const { reporter, clock } = start();
  assert.equal(reporter.isOverdue(key), false);
  assert.deepEqual(reporter.awaits(key), { requeueAfterMs: 1_000 });
  await clock.advance(600);
  assert.deepEqual(reporter.awaits(key), { requeueAfterMs: 400 });
  await clock.advance(400);
  assert.equal(reporter.isOverdue(key), true);
  reporter.answered(key);
  assert.equal(reporter.isOverdue(key), false);
});
