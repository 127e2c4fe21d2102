import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { VirtualClock } from "@klutch/kube-testing";
import { DeletionBreaker } from "./deletion-breaker.ts";

const settleMs = 2_000;
const make = (clock = systemClock, holds: (string | undefined)[] = []): DeletionBreaker =>
  new DeletionBreaker({
    name: "widgets.example.org",
    clock,
    limit: 5,
    settleMs,
    onChange: (why) => holds.push(why),
  });
const ending = "2026-01-01T00:00:00Z";

test("the deletion of a CRD holds at once, and once released that one does not hold again", () => {
  const breaker = make();
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(!breaker.admit());
  breaker.release();
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(breaker.admit());
  breaker.holdForCrd("widgets.example.org", "2026-01-02T00:00:00Z");
  assert.ok(!breaker.admit());
});

test("a release that an earlier process was given counts for this one", () => {
  const breaker = make();
  breaker.releaseCrd(ending);
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(breaker.admit());
});

test("one command that deletes eight claims one after the other deletes none upstream, and a release lets all go", async () => {
  const clock = new VirtualClock();
  const holds: (string | undefined)[] = [];
  const breaker = make(clock, holds);
  const keys = Array.from({ length: 8 }, (_, index) => `app/${index}`);
  breaker.setAlive(keys.length);
  for (const [index, key] of keys.entries()) {
    breaker.setAlive(keys.length - index - 1);
    assert.equal(breaker.waitMs(key), settleMs);
    await clock.advance(100);
  }
  await clock.advance(settleMs);
  for (const key of keys) {
    assert.equal(breaker.waitMs(key), 0);
    assert.ok(!breaker.admit(), key);
  }
  assert.match(
    holds.join(),
    /^8 of 8 claims were deleted within a minute; .*klutch release widgets\.example\.org$/,
  );
  breaker.release();
  for (const key of keys) assert.ok(breaker.admit(), key);
});

test("claims that go one by one are deleted, and the fifth of eight within a minute is held", async () => {
  const clock = new VirtualClock();
  const breaker = make(clock);
  breaker.setAlive(8);
  const deletes = async (left: number, pauseMs: number): Promise<boolean> => {
    breaker.setAlive(left);
    breaker.waitMs(`app/${left}`);
    await clock.advance(settleMs);
    const isAdmitted = breaker.admit();
    await clock.advance(pauseMs);
    return isAdmitted;
  };
  for (const left of [7, 6, 5, 4]) assert.ok(await deletes(left, 5_000));
  assert.ok(!(await deletes(3, 70_000)));
  breaker.release();
  for (const left of [2, 1, 0]) assert.ok(await deletes(left, 70_000));
});

test("a deletion waits for no other where so few claims live that none can be held", () => {
  const breaker = make();
  breaker.setAlive(4);
  breaker.setAlive(0);
  assert.equal(breaker.waitMs("app/a"), 0);
  assert.ok(breaker.admit());
});

test("what was deleted while no konnector ran counts, too", () => {
  const breaker = make();
  breaker.setAlive(1);
  breaker.setInitial(8);
  assert.ok(!breaker.admit());
});

test("the next process continues a hold with the same message", () => {
  const holds: (string | undefined)[] = [];
  const breaker = make(systemClock, holds);
  breaker.resume("8 of 8 claims were deleted");
  assert.ok(!breaker.admit());
  assert.deepEqual(holds, ["8 of 8 claims were deleted"]);
});

test("claims that go with their namespace are none of many, neither while they are held nor once that is confirmed", async () => {
  const clock = new VirtualClock();
  const breaker = make(clock);
  breaker.setAlive(9);
  const why = "namespace team is being deleted with its 6 claims";
  for (const [index, left] of [8, 7, 6, 5, 4, 3].entries()) {
    breaker.setAlive(left);
    breaker.judged(`team/${index}`, { state: "held", why });
  }
  breaker.setAlive(2);
  assert.equal(breaker.whyHeld("team/0"), why);
  assert.equal(breaker.whyHeld("app/a"), undefined);
  assert.ok(breaker.admit(), "a claim of another namespace");
  breaker.judged("team/0", { state: "confirmed" });
  assert.equal(breaker.whyHeld("team/0"), undefined);
  assert.ok(breaker.admit());
});

test("the hold of namespaces ends with its last claim, and that of an earlier process when each deletion is judged", () => {
  const holds: (string | undefined)[] = [];
  const breaker = make(systemClock, holds);
  breaker.judged("team/a", { state: "held", why: "team goes" });
  breaker.judged("other/a", { state: "held", why: "other goes" });
  breaker.forget("team/a");
  breaker.judged("other/a", { state: "confirmed" });
  assert.deepEqual(holds, ["team goes", "other goes. team goes", "other goes", undefined]);
  const later: (string | undefined)[] = [];
  const next = make(systemClock, later);
  next.resumeNamespaces("team goes");
  assert.ok(next.holdsAny && !next.isHeld);
  next.setInitial(8, ["team/a", "team/b"]);
  next.judged("team/a", { state: "free" });
  assert.deepEqual(later, []);
  next.forget("team/b");
  assert.deepEqual(later, [undefined]);
});
