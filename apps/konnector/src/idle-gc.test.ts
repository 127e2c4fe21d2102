import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { collectWhenIdle } from "./idle-gc.ts";

test("memory is given back once after the start, a new term and a backlog, when it is quiet, and not for small work", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let reconciles = 0;
  let starts = 0;
  let collections = 0;
  const running = collectWhenIdle(
    { clock, reconciles: () => reconciles, starts: () => starts, collect: () => collections++ },
    stop.signal,
  );
  await clock.advance(30_000);
  assert.equal(collections, 1);
  starts = 1;
  await clock.advance(30_000);
  assert.equal(collections, 2);
  reconciles = 100;
  await clock.advance(30_000);
  assert.equal(collections, 2);
  for (let second = 0; second < 30; second++) {
    reconciles += 100;
    await clock.advance(1_000);
  }
  assert.equal(collections, 2);
  await clock.advance(60_000);
  assert.equal(collections, 3);
  stop.abort();
  await running;
});
