import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { createPollPace } from "./poll-pace.ts";

let now = 1_000_000;
const clock = { ...systemClock, now: () => now };
const newPace = (capacity = 10): ReturnType<typeof createPollPace> =>
  createPollPace({ clock, capacity, longestMs: 60_000 });

test("the later one of the handle's time and this replica's own counts", () => {
  const pace = newPace();
  assert.equal(pace.waitMs("a", now), 0);
  assert.equal(pace.waitMs("a", now + 5_000), 5_000);
  pace.asked("a", now + 7_000);
  assert.equal(pace.waitMs("a", now + 5_000), 7_000);
  assert.equal(pace.waitMs("b", now), 0);
});

test("a wait is bounded when the clock was put back, or another replica's is ahead", () => {
  const pace = newPace();
  pace.asked("a", now + 5_000);
  now -= 3_600_000;
  assert.equal(pace.waitMs("a", now), 60_000);
  now += 3_600_000;
});

test("a login ends once, and a slow answer to an earlier poll does not open it again", () => {
  const pace = newPace();
  pace.asked("a", now);
  assert.equal(pace.end("a"), true);
  assert.equal(pace.end("a"), false);
  pace.asked("a", now + 5_000);
  assert.equal(pace.waitMs("a", now), "ended");
});

test("of more logins than it has room for it forgets the oldest", () => {
  const pace = newPace(2);
  for (const login of ["a", "b", "c"]) pace.end(login);
  assert.equal(pace.waitMs("a", 0), 0);
  assert.deepEqual([pace.waitMs("b", 0), pace.waitMs("c", 0)], ["ended", "ended"]);
});
