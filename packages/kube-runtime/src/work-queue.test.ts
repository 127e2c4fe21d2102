import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Clock } from "@klutch/kube";
import { DelayHeap } from "./delay-heap.ts";
import { type Lane, WorkQueue } from "./work-queue.ts";

/** A clock that stands still until it is moved. */
function manualClock(): { readonly clock: Clock; readonly advance: (ms: number) => void } {
  let now = 0;
  const timers: { at: number; run: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: () => Promise.reject(new Error("not used here")),
    schedule(delayMs, run) {
      const timer = { at: now + delayMs, run };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  };
  return {
    clock,
    advance(ms) {
      now += ms;
      for (const timer of timers.filter(({ at }) => at <= now)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.run();
      }
    },
  };
}

const lanes: readonly Lane[] = ["user", "normal", "resync"];
type Step =
  | { readonly op: "add"; readonly key: string; readonly lane: Lane }
  | { readonly op: "take" | "done" };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    op: fc.constant("add" as const),
    key: fc.constantFrom("a", "b", "c", "d"),
    lane: fc.constantFrom(...lanes),
  }),
  fc.record({ op: fc.constantFrom("take" as const, "done" as const) }),
);

test("a key is never handed out while it is being worked on, and every add is followed by a take", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const queue = new WorkQueue();
      const working: string[] = [];
      const owed = new Set<string>();
      for (const one of steps) {
        if (one.op === "add") {
          queue.add(one.key, { lane: one.lane });
          owed.add(one.key);
        } else if (one.op === "done") {
          const key = working.shift();
          if (key !== undefined) queue.done(key);
        } else if (queue.size > 0) {
          const key = await queue.take();
          assert.ok(key !== undefined && !working.includes(key));
          assert.ok(owed.delete(key), `${key} was handed out without being asked for`);
          working.push(key);
        }
      }
      for (const key of working) queue.done(key);
      while (queue.size > 0) {
        const key = (await queue.take()) ?? "";
        owed.delete(key);
        queue.done(key);
      }
      assert.deepEqual([...owed], []);
    }),
  );
});

test("a lane gives its keys in the order in which they came, also when some left for another lane", async () => {
  const key = fc.integer({ min: 0, max: 20 }).map(String);
  const change = fc.oneof(
    fc.record({ op: fc.constantFrom("add" as const, "promote" as const), key }),
    fc.record({ op: fc.constant("take" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 120 }), async (changes) => {
      const queue = new WorkQueue();
      const waiting: Record<"user" | "normal", string[]> = { user: [], normal: [] };
      for (const one of changes) {
        if (one.op === "take") {
          if (queue.size === 0) continue;
          const taken = await queue.take();
          assert.ok(taken !== undefined);
          const lane = waiting.user.includes(taken) ? "user" : "normal";
          assert.equal(waiting[lane].shift(), taken);
          queue.done(taken);
        } else if (one.op === "promote") {
          queue.add(one.key, { lane: "user" });
          waiting.normal = waiting.normal.filter((other) => other !== one.key);
          if (!waiting.user.includes(one.key)) waiting.user.push(one.key);
        } else {
          queue.add(one.key);
          if (![...waiting.user, ...waiting.normal].includes(one.key)) waiting.normal.push(one.key);
        }
      }
      assert.equal(queue.size, waiting.user.length + waiting.normal.length);
    }),
  );
});

test("people's changes overtake bulk work, and bulk work is not starved", async () => {
  const queue = new WorkQueue();
  for (let index = 0; index < 20; index++) queue.add(`r${index}`, { lane: "resync" });
  for (let index = 0; index < 20; index++) queue.add(`u${index}`, { lane: "user" });
  const order: string[] = [];
  for (let index = 0; index < 20; index++) order.push((await queue.take()) ?? "");
  assert.deepEqual(order.slice(0, 7), ["u0", "u1", "u2", "u3", "u4", "u5", "u6"]);
  assert.equal(order.filter((key) => key.startsWith("r")).length, 2);
});

test("a lane's limit keeps takers free for more important lanes, and holds until its work is done", async () => {
  const queue = new WorkQueue({ limitOf: (lane) => (lane === "resync" ? 2 : 3) });
  for (const key of ["r0", "r1", "r2"]) queue.add(key, { lane: "resync" });
  assert.deepEqual([await queue.take(), await queue.take()], ["r0", "r1"]);
  const third = queue.take();
  const fourth = queue.take();
  queue.add("u0", { lane: "user" });
  assert.equal(await third, "u0");
  queue.done("u0");
  assert.deepEqual([queue.size, queue.workingSize], [1, 2]);
  queue.done("r0");
  assert.equal(await fourth, "r2");
});

test("what is less important counts against a lane's limit, what is more important does not", async () => {
  const queue = new WorkQueue({ limitOf: (lane) => (lane === "user" ? 4 : 2) });
  for (const key of ["u0", "u1"]) queue.add(key, { lane: "user" });
  assert.deepEqual([await queue.take(), await queue.take()], ["u0", "u1"]);
  for (const key of ["n0", "n1", "n2"]) queue.add(key);
  queue.add("r0", { lane: "resync" });
  assert.deepEqual([await queue.take(), await queue.take()], ["n0", "n1"]);
  const next = queue.take();
  queue.done("u0");
  assert.equal(queue.workingSize, 3);
  queue.done("n0");
  assert.equal(await next, "n2");
});

test("a key that comes back for another look comes back in its lane: a backlog that waits does not become important", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock, random: () => 1 });
  queue.add("late", { lane: "resync" });
  queue.add("failed", { lane: "resync" });
  for (const key of [await queue.take(), await queue.take()]) {
    if (key === "late") queue.addAfter(key, 10);
    else queue.addRateLimited(key ?? "", { atLeastMs: 10 });
    queue.done(key ?? "");
  }
  advance(10);
  queue.add("other");
  assert.deepEqual([await queue.take(), queue.size], ["other", 2]);
});

test("adding a waiting key in a more important lane moves it there", async () => {
  const queue = new WorkQueue();
  queue.add("a", { lane: "resync" });
  queue.add("b");
  queue.add("a", { lane: "user" });
  assert.deepEqual([await queue.take(), await queue.take(), queue.size], ["a", "b", 0]);
});

test("failures wait longer each time, up to the cap, and forgetting starts anew", () => {
  const { clock } = manualClock();
  const queue = new WorkQueue({ clock, random: () => 1, baseDelayMs: 10, maxDelayMs: 1000 });
  const waits = Array.from({ length: 9 }, () => queue.addRateLimited("a"));
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
  queue.forget("a");
  assert.equal(queue.addRateLimited("a"), 10);
  assert.equal(queue.addRateLimited("b", { atLeastMs: 5000 }), 5000);
});

test("a delayed key comes when it is due, and not before", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock });
  queue.addAfter("late", 100);
  queue.addAfter("early", 50);
  advance(49);
  assert.equal(queue.size, 0);
  advance(1);
  assert.equal(await queue.take(), "early");
  assert.equal(queue.size, 0);
  advance(50);
  assert.equal(await queue.take(), "late");
});

test("a waiting taker gets undefined when it is aborted or the queue is shut down", async () => {
  const queue = new WorkQueue();
  const abort = new AbortController();
  const aborted = queue.take({ signal: abort.signal });
  const waiting = queue.take();
  abort.abort();
  assert.equal(await aborted, undefined);
  queue.shutDown();
  assert.equal(await waiting, undefined);
  queue.add("a");
  assert.equal(queue.size, 0);
});

test("the heap gives items back in the order in which they are due", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1000 })), (times) => {
      const heap = new DelayHeap<number>();
      for (const time of times) heap.push(time, time);
      const popped: number[] = [];
      for (let item = heap.popDue(2000); item !== undefined; item = heap.popDue(2000)) popped.push(item);
      assert.deepEqual(
        popped,
        times.toSorted((left, right) => left - right),
      );
    }),
  );
});
