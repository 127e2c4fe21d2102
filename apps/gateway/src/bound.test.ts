import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { untilKnown } from "./bound.ts";

const { signal } = new AbortController();

test("the names of exports are waited for, and no longer than ten seconds", async () => {
  const clock = new VirtualClock();
  let isOver = false;
  const waiting = untilKnown({ whenSynced: () => new Promise(() => undefined) }, clock, signal);
  void waiting.then(() => (isOver = true));
  await clock.advance(9_999);
  assert.equal(isOver, false);
  await clock.advance(1);
  await waiting;
});

test("names that have come end the wait at once and leave no timer", async () => {
  const clock = new VirtualClock();
  await untilKnown({ whenSynced: async () => undefined }, clock, signal);
  assert.equal(clock.nextDueAt, undefined);
});

test("a stop ends the wait", async () => {
  const stop = new AbortController();
  const whenSynced = (): Promise<void> =>
    new Promise((_, reject) => stop.signal.addEventListener("abort", () => reject(new Error("stopped"))));
  const waiting = untilKnown({ whenSynced }, new VirtualClock(), stop.signal);
  stop.abort();
  await waiting;
});
