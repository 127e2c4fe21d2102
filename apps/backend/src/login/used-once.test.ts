import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { createUsedOnce } from "./used-once.ts";

test("a value is taken once, until its lifetime is over", () => {
  const time = { now: 0 };
  const clock = { ...systemClock, monotonic: () => time.now };
  const once = createUsedOnce({ clock, lifetimeMs: 1_000, capacity: 10 });
  assert.equal(once.take("a"), true);
  assert.equal(once.take("a"), false);
  assert.equal(once.take("b"), true);
  time.now = 1_001;
  assert.equal(once.take("a"), true);
});

test("beyond the capacity the oldest values are forgotten, never the newest", () => {
  const once = createUsedOnce({ clock: systemClock, lifetimeMs: 60_000, capacity: 3 });
  for (const value of ["a", "b", "c", "d"]) assert.equal(once.take(value), true);
  assert.equal(once.take("d"), false);
  assert.equal(once.take("a"), true);
});
