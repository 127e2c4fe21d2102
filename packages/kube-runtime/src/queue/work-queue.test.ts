import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Clock } from "@klutch/kube";
import { DelayHeap } from "./delay-heap.ts";
import type { Priority } from "./wake.ts";
import { WorkQueue } from "./work-queue.ts";

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

const priorities: readonly Priority[] = ["high", "normal", "low"];
type Step =
  | { readonly op: "add"; readonly key: string; readonly priority: Priority }
  | { readonly op: "get" | "done" };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    op: fc.constant("add" as const),
    key: fc.constantFrom("a", "b", "c", "d"),
    priority: fc.constantFrom(...priorities),
  }),
  fc.record({ op: fc.constantFrom("get" as const, "done" as const) }),
);

test("a key is never handed out while it is being worked on, and every add is followed by a get", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const queue = new WorkQueue();
      const working: string[] = [];
      const owed = new Set<string>();
      for (const one of steps) {
        if (one.op === "add") {
          queue.add(one.key, { priority: one.priority });
          owed.add(one.key);
        } else if (one.op === "done") {
          const key = working.shift();
          if (key !== undefined) queue.done(key);
        } else if (queue.size > 0) {
          const key = await queue.get();
          assert.ok(key !== undefined && !working.includes(key));
          assert.ok(owed.delete(key), `${key} was handed out without being asked for`);
          working.push(key);
        }
      }
      for (const key of working) queue.done(key);
      while (queue.size > 0) {
        const key = (await queue.get()) ?? "";
        owed.delete(key);
        queue.done(key);
      }
      assert.deepEqual([...owed], []);
    }),
  );
});

test("a priority gives its keys in the order in which they came, also when some left for another priority", async () => {
  const key = fc.integer({ min: 0, max: 20 }).map(String);
  const change = fc.oneof(
    fc.record({ op: fc.constantFrom("add" as const, "promote" as const), key }),
    fc.record({ op: fc.constant("get" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 120 }), async (changes) => {
      const queue = new WorkQueue();
      const waiting: Record<"high" | "normal", string[]> = { high: [], normal: [] };
      for (const one of changes) {
        if (one.op === "get") {
          if (queue.size === 0) continue;
          const taken = await queue.get();
          assert.ok(taken !== undefined);
          const priority = waiting.high.includes(taken) ? "high" : "normal";
          assert.equal(waiting[priority].shift(), taken);
          queue.done(taken);
        } else if (one.op === "promote") {
          queue.add(one.key, { priority: "high" });
          waiting.normal = waiting.normal.filter((other) => other !== one.key);
          if (!waiting.high.includes(one.key)) waiting.high.push(one.key);
        } else {
          queue.add(one.key);
          if (![...waiting.high, ...waiting.normal].includes(one.key)) waiting.normal.push(one.key);
        }
      }
      assert.equal(queue.size, waiting.high.length + waiting.normal.length);
    }),
  );
});

test("people's changes overtake bulk work, and bulk work is not starved", async () => {
  const queue = new WorkQueue();
  for (let index = 0; index < 20; index++) queue.add(`r${index}`, { priority: "low" });
  for (let index = 0; index < 20; index++) queue.add(`u${index}`, { priority: "high" });
  const order: string[] = [];
  for (let index = 0; index < 20; index++) order.push((await queue.get()) ?? "");
  assert.deepEqual(order.slice(0, 7), ["u0", "u1", "u2", "u3", "u4", "u5", "u6"]);
  assert.equal(order.filter((key) => key.startsWith("r")).length, 2);
});

test("a priority's limit keeps waiters free for higher priorities, and holds until its work is done", async () => {
  const queue = new WorkQueue({ maxConcurrent: (priority) => (priority === "low" ? 2 : 3) });
  for (const key of ["r0", "r1", "r2"]) queue.add(key, { priority: "low" });
  assert.deepEqual([await queue.get(), await queue.get()], ["r0", "r1"]);
  const third = queue.get();
  const fourth = queue.get();
  queue.add("u0", { priority: "high" });
  assert.equal(await third, "u0");
  queue.done("u0");
  assert.deepEqual([queue.size, queue.workingSize], [1, 2]);
  queue.done("r0");
  assert.equal(await fourth, "r2");
});

test("keys of lower priority count against a priority's limit, keys of higher priority do not", async () => {
  const queue = new WorkQueue({ maxConcurrent: (priority) => (priority === "high" ? 4 : 2) });
  for (const key of ["u0", "u1"]) queue.add(key, { priority: "high" });
  assert.deepEqual([await queue.get(), await queue.get()], ["u0", "u1"]);
  for (const key of ["n0", "n1", "n2"]) queue.add(key);
  queue.add("r0", { priority: "low" });
  assert.deepEqual([await queue.get(), await queue.get()], ["n0", "n1"]);
  const next = queue.get();
  queue.done("u0");
  assert.equal(queue.workingSize, 3);
  queue.done("n0");
  assert.equal(await next, "n2");
});

test("a key that comes back for another reconcile comes back in its priority: a backlog that waits does not become important", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock, random: () => 1 });
  queue.add("late", { priority: "low" });
  queue.add("failed", { priority: "low" });
  for (const key of [await queue.get(), await queue.get()]) {
    if (key === "late") queue.addAfter(key, 10);
    else queue.addRateLimited(key ?? "", { atLeastMs: 10 });
    queue.done(key ?? "");
  }
  advance(10);
  queue.add("other");
  assert.deepEqual([await queue.get(), queue.size], ["other", 2]);
});

test("adding a waiting key in a higher priority moves it there", async () => {
  const queue = new WorkQueue();
  queue.add("a", { priority: "low" });
  queue.add("b");
  queue.add("a", { priority: "high" });
  assert.deepEqual([await queue.get(), await queue.get(), queue.size], ["a", "b", 0]);
});

test("failures wait longer each time, up to the cap, and forgetting starts again", () => {
  const { clock } = manualClock();
  const queue = new WorkQueue({ clock, random: () => 1, baseDelayMs: 10, maxDelayMs: 1000 });
  const waits = Array.from({ length: 9 }, () => queue.addRateLimited("a"));
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
  queue.forget("a");
  assert.equal(queue.addRateLimited("a"), 10);
  assert.equal(queue.addRateLimited("b", { atLeastMs: 5000 }), 5000);
});

test("a failure may ask for another first wait; how often it failed counts on", () => {
  const { clock } = manualClock();
  const queue = new WorkQueue({ clock, random: () => 1, baseDelayMs: 5, maxDelayMs: 60_000 });
  const waits = Array.from({ length: 8 }, () => queue.addRateLimited("a", { baseMs: 1_000 }));
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(queue.addRateLimited("a"), 5 * 2 ** 8);
  assert.equal(queue.delayedSize, 1);
});

test("a delayed key comes when it is due, and not before", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock });
  queue.addAfter("late", 100);
  queue.addAfter("early", 50);
  advance(49);
  assert.equal(queue.size, 0);
  advance(1);
  assert.equal(await queue.get(), "early");
  assert.equal(queue.size, 0);
  advance(50);
  assert.equal(await queue.get(), "late");
});

test("a waiting waiter gets undefined when it is aborted or the queue is shut down", async () => {
  const queue = new WorkQueue();
  const abort = new AbortController();
  const aborted = queue.get({ signal: abort.signal });
  const waiting = queue.get();
  abort.abort();
  assert.equal(await aborted, undefined);
  queue.shutDown();
  assert.equal(await waiting, undefined);
  queue.add("a");
  assert.equal(queue.size, 0);
});

test("20 events and then ten silent minutes cause one reconcile a minute, not twenty", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock });
  const reconcile = async (): Promise<void> => {
    const key = (await queue.get()) ?? "";
    queue.addAfter(key, 60_000);
    queue.done(key);
  };
  for (let event = 0; event < 20; event++) {
    queue.add("a");
    await reconcile();
    advance(1_000);
  }
  assert.equal(queue.delayedSize, 1);
  let reconciles = 0;
  for (let second = 0; second < 600; second++) {
    advance(1_000);
    for (; queue.size > 0; reconciles++) await reconcile();
  }
  assert.equal(reconciles, 10);
});

test("a key that waits for two times comes once, at the earlier one, and as important as the more important", async () => {
  const { clock, advance } = manualClock();
  const queue = new WorkQueue({ clock });
  queue.addAfter("a", 100, { priority: "high" });
  queue.addAfter("a", 50, { priority: "low" });
  queue.addAfter("b", 20);
  queue.addAfter("b", 80);
  assert.equal(queue.delayedSize, 2);
  advance(20);
  assert.equal(await queue.get(), "b");
  advance(30);
  queue.add("other");
  assert.deepEqual([await queue.get(), await queue.get()], ["a", "other"]);
  advance(200);
  assert.deepEqual([queue.size, queue.delayedSize], [0, 0]);
});

test("whatever is added, delayed and done, a key waits for at most one time and comes exactly as a naive model says", async () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const step = fc.oneof(
    fc.record({ op: fc.constant("add" as const), key }),
    fc.record({ op: fc.constant("addAfter" as const), key, ms: fc.integer({ min: -1, max: 60 }) }),
    fc.record({ op: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ op: fc.constantFrom("get" as const, "done" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 150 }), async (steps) => {
      const { clock, advance } = manualClock();
      const queue = new WorkQueue({ clock });
      const model = new NaiveQueue();
      for (const one of steps) {
        if (one.op === "add") {
          queue.add(one.key);
          model.addAfter(one.key, 0);
        } else if (one.op === "addAfter") {
          queue.addAfter(one.key, one.ms);
          model.addAfter(one.key, one.ms);
        } else if (one.op === "advance") {
          for (let ms = 0; ms < one.ms; ms++) {
            advance(1);
            model.tick();
          }
        } else if (one.op === "done") {
          const [working] = model.working;
          if (working === undefined) continue;
          queue.done(working);
          model.done(working);
        } else if (queue.size > 0) {
          const taken = (await queue.get()) ?? "";
          assert.ok(model.waiting.delete(taken), `${taken} was handed out without being due`);
          model.working.add(taken);
        }
        assert.deepEqual(
          [queue.size, queue.workingSize, queue.delayedSize],
          [model.waiting.size, model.working.size, model.dueAt.size],
        );
      }
    }),
  );
});

/** Model of the queue in plain code, without priorities and order. */
class NaiveQueue {
  readonly waiting = new Set<string>();
  readonly working = new Set<string>();
  readonly dueAt = new Map<string, number>();
  readonly #again = new Set<string>();
  #now = 0;

  addAfter(key: string, ms: number): void {
    if (ms > 0)
      this.dueAt.set(key, Math.min(this.#now + ms, this.dueAt.get(key) ?? Number.POSITIVE_INFINITY));
    else (this.working.has(key) ? this.#again : this.waiting).add(key);
  }

  tick(): void {
    this.#now++;
    for (const [key, at] of this.dueAt) {
      if (at > this.#now) continue;
      this.dueAt.delete(key);
      this.addAfter(key, 0);
    }
  }

  done(key: string): void {
    this.working.delete(key);
    if (this.#again.delete(key)) this.waiting.add(key);
  }
}

test("the heap gives keys back in the order in which they are due, each once and when it was last set for", () => {
  const entry = fc.tuple(fc.integer({ min: 0, max: 40 }).map(String), fc.integer({ min: 0, max: 1000 }));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 200 }), (entries) => {
      const heap = new DelayHeap<string, number>();
      for (const [key, time] of entries) heap.set(key, time, time);
      const last = new Map(entries);
      assert.equal(heap.size, last.size);
      const popped: [string, number][] = [];
      for (let due = heap.popDue(2000); due !== undefined; due = heap.popDue(2000))
        popped.push([due.key, due.item]);
      assert.deepEqual(new Map(popped), last);
      assert.deepEqual(
        popped.map(([, time]) => time),
        [...last.values()].toSorted((left, right) => left - right),
      );
    }),
  );
});
