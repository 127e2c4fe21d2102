import assert from "node:assert/strict";
import { test } from "node:test";
import { TransportError } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import type { Step } from "@klutch/sync";
import type { Environment } from "../../clusters.ts";
import type { PairObservation } from "./pair-store.ts";
import { PairReporter } from "./pair-reporter.ts";

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
  provider: claim,
  mapping: { state: "missing" },
} as unknown as PairObservation;
const status: Step = { do: "writeStatus", ref: { namespace: "app", name: "w" }, uid: "u", status: {} };

function start(): {
  readonly reporter: PairReporter;
  readonly clock: VirtualClock;
  readonly told: string[];
  readonly lags: number[];
} {
  const clock = new VirtualClock();
  const told: string[] = [];
  const lags: number[] = [];
  const metrics = { lag: { labels: () => ({ observe: (seconds: number) => lags.push(seconds) }) } };
  const environment = { clock, metrics, timing: { tellAfterMs: 5_000 } } as unknown as Environment;
  const events = {
    note: (_about: unknown, reason: string) => void told.push(reason),
    tell: (_about: unknown, _type: unknown, reason: string) => Promise.resolve(void told.push(reason)),
    warn: () => undefined,
  };
  return { reporter: new PairReporter({ type, events, environment }), clock, told, lags };
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

test("a pair that is gone is not measured, and its next first status is told again", () => {
  const { reporter, told, lags } = start();
  reporter.differs(key, 0);
  reporter.carriedOut(pair, status);
  reporter.carriedOut(pair, status);
  assert.deepEqual(told, ["Synced"]);
  reporter.forget(key);
  reporter.synced(key);
  reporter.carriedOut(pair, status);
  assert.deepEqual([told.length, lags.length], [2, 0]);
});

test("a wait is told when it is long, and begins anew after the pair waited for nothing", async () => {
  const { reporter, clock, told } = start();
  const wait = (): Promise<unknown> => reporter.waits(pair, claim, "providerDeletion");
  reporter.differs(key, 0);
  assert.deepEqual(await wait(), { requeueAfterMs: 5_000 });
  await clock.advance(3_000);
  assert.deepEqual(await wait(), { requeueAfterMs: 2_000 });
  reporter.stopsWaiting(key);
  assert.deepEqual(await wait(), { requeueAfterMs: 5_000 });
  await clock.advance(5_000);
  assert.equal(await wait(), undefined);
  assert.deepEqual(told, ["WaitingForDeletion"]);
});

test("a failure that may pass by itself is told with the third attempt, counted until the pair is in sync", async () => {
  const { reporter, told } = start();
  const fail = (): Promise<void> => reporter.failed(pair, status, new TransportError("Reset", "cut off"));
  reporter.differs(key, 0);
  await fail();
  await fail();
  reporter.synced(key);
  reporter.differs(key, 0);
  await fail();
  await fail();
  assert.deepEqual(told, []);
  await fail();
  assert.deepEqual(told, ["WaitingForConnection"]);
});
