import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, TransportError } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type { Step } from "@klutch/sync";
import { PairEvents } from "./events.ts";
import { type PairOutcome, PairProgress } from "./pair-progress.ts";
import type { PairObservation } from "./pair-store.ts";

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

const synced: PairOutcome = { isSynced: true, awaitsStatus: false, isWaiting: false };
const differs: PairOutcome = { ...synced, isSynced: false };
const awaits: PairOutcome = { ...synced, awaitsStatus: true };
const waits: PairOutcome = { ...differs, isWaiting: true };

function start(): {
  readonly progress: PairProgress;
  readonly events: PairEvents;
  readonly recorded: string[];
  readonly texts: string[];
} {
  const recorded: string[] = [];
  const texts: string[] = [];
  const recorder = {
    recordRoutine: (_about: unknown, reason: string) => void recorded.push(reason),
    record: (_about: unknown, _type: unknown, reason: string, text: string) => {
      texts.push(text);
      return Promise.resolve(void recorded.push(reason));
    },
    recordWarning: () => undefined,
  };
  const progress = new PairProgress(1_000);
  return { progress, events: new PairEvents(recorder, progress, 5_000, "cluster-a"), recorded, texts };
}

test("how long a pair differed is measured once, from the first time that it was seen", () => {
  const { progress } = start();
  assert.equal(progress.ended(key, synced, 0).lagMs, undefined);
  progress.differs(key, 0);
  assert.equal(progress.ended(key, differs, 1_000).lagMs, undefined);
  progress.differs(key, 2_000);
  assert.equal(progress.ended(key, synced, 2_000).lagMs, 2_000);
  assert.equal(progress.ended(key, synced, 3_000).lagMs, undefined);
});

test("a pair that is gone is not measured, and its next first status is recorded again", () => {
  const { progress, events, recorded } = start();
  progress.differs(key, 0);
  events.carriedOut(pair, status, 0);
  events.carriedOut(pair, status, 0);
  assert.deepEqual(recorded, ["Synced"]);
  progress.forget(key);
  assert.equal(progress.ended(key, synced, 0).lagMs, undefined);
  events.carriedOut(pair, status, 0);
  assert.equal(recorded.length, 2);
});

test("a wait is recorded when it is long, and starts again after the pair waited for nothing", async () => {
  const { progress, events, recorded } = start();
  const wait = (now: number): Promise<unknown> =>
    events.waits(pair, claim, "providerDeletion", {
      since: progress.ended(key, waits, now).waitingSince ?? Number.NaN,
      now,
    });
  progress.differs(key, 0);
  assert.deepEqual(await wait(0), { requeueAfterMs: 5_000 });
  assert.deepEqual(await wait(3_000), { requeueAfterMs: 2_000 });
  progress.ended(key, differs, 3_000);
  assert.deepEqual(await wait(3_000), { requeueAfterMs: 5_000 });
  assert.equal(await wait(8_000), undefined);
  assert.deepEqual(recorded, ["WaitingForDeletion"]);
});

test("a wait ends at its time although times have fractions that do not add up", async () => {
  const { progress, events, recorded } = start();
  let now = 7_300.414300914058;
  progress.differs(key, now);
  for (let round = 0; round < 5 && recorded.length === 0; round++) {
    const since = progress.ended(key, waits, now).waitingSince ?? Number.NaN;
    const result = await events.waits(pair, claim, "providerDeletion", { since, now });
    const next = now + (result?.requeueAfterMs ?? 1);
    assert.ok(next > now, "time stands still");
    now = next;
  }
  assert.deepEqual(recorded, ["WaitingForDeletion"]);
});

test("a refusal is recorded without the names of the provider's namespaces", async () => {
  const { events, texts } = start();
  const message =
    'widgets is forbidden: User "system:serviceaccount:cluster-a:klutch-binder" cannot create it in the namespace "cluster-a-demo"';
  const step: Step = { do: "patchProvider", ref: { namespace: "cluster-a-demo", name: "w" }, patch: {} };
  await events.failed(pair, step, new ApiError({ status: 403, reason: "Forbidden", message }));
  assert.match(
    texts.join(),
    /^the provider refused the object: .*"system:serviceaccount:this cluster:.*"demo"/,
  );
  assert.doesNotMatch(texts.join(), /cluster-a/);
});

test("a failure that may pass by itself is recorded with the third attempt, counted until the pair is in sync", async () => {
  const { progress, events, recorded } = start();
  const fail = (): Promise<void> => events.failed(pair, status, new TransportError("Reset", "cut off"));
  progress.differs(key, 0);
  await fail();
  await fail();
  progress.ended(key, synced, 0);
  progress.differs(key, 0);
  await fail();
  await fail();
  assert.deepEqual(recorded, []);
  await fail();
  assert.deepEqual(recorded, ["WaitingForConnection"]);
});

test("an unanswered claim is overdue after a second, and not before it waits again when it was answered", () => {
  const { progress } = start();
  assert.equal(progress.isOverdue(key, 0), false);
  assert.equal(progress.ended(key, awaits, 0).overdueInMs, 1_000);
  assert.equal(progress.ended(key, awaits, 600).overdueInMs, 400);
  assert.equal(progress.isOverdue(key, 1_000), true);
  progress.ended(key, synced, 1_000);
  assert.equal(progress.isOverdue(key, 1_000), false);
});

test("a pair that differs is overdue after a second, also while no one awaits its status", () => {
  const { progress } = start();
  progress.differs(key, 0);
  progress.ended(key, differs, 500);
  assert.equal(progress.isOverdue(key, 999), false);
  assert.equal(progress.isOverdue(key, 1_000), true);
});
