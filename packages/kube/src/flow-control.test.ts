import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "./clock.ts";
import { FlowControl, type FlowPermit } from "./flow-control.ts";

/** Time that moves only when told to. */
function manualClock(): Clock & { advance(ms: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep: () => Promise.reject(new Error("flow control does not sleep")),
    schedule(delayMs, run) {
      const timer = { at: now + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      now += ms;
      for (const timer of [...timers].filter(({ at }) => at <= now)) {
        timers.delete(timer);
        timer.run();
      }
    },
  };
}

/** Takes `count` permits at once and ends them all with the same latency. */
async function round(
  flow: FlowControl,
  clock: { advance(ms: number): void },
  latencyMs: number,
): Promise<void> {
  const permits = await Promise.all(Array.from({ length: Math.floor(flow.limit) }, () => flow.acquire()));
  clock.advance(latencyMs);
  for (const permit of permits) permit.done({ latencyMs });
}

test("the limit grows while answers stay fast and it is in use, up to its maximum", async () => {
  const clock = manualClock();
  const flow = new FlowControl({ initialInFlight: 4, maxInFlight: 12 }, clock);
  await round(flow, clock, 5);
  assert.ok(flow.limit > 4);
  for (let i = 0; i < 100; i++) await round(flow, clock, 5);
  assert.ok(flow.limit > 11 && flow.limit <= 12, `${flow.limit}`);
});

test("a limit that is not used does not grow", async () => {
  const clock = manualClock();
  const flow = new FlowControl({ initialInFlight: 8 }, clock);
  for (let i = 0; i < 50; i++) (await flow.acquire()).done({ latencyMs: 5 });
  assert.equal(flow.limit, 8);
});

test("the limit shrinks when answers become much slower, but not below its minimum", async () => {
  const clock = manualClock();
  const flow = new FlowControl({ minInFlight: 2, initialInFlight: 16 }, clock);
  await round(flow, clock, 5);
  const before = flow.limit;
  await round(flow, clock, 500);
  assert.ok(flow.limit < before * 0.8, `${flow.limit} after ${before}`);
  for (let i = 0; i < 30; i++) await round(flow, clock, 500 + i * 500);
  assert.ok(flow.limit >= 2);
});

test("after a 429 nothing is sent until its Retry-After has passed", async () => {
  const clock = manualClock();
  const flow = new FlowControl({ initialInFlight: 10 }, clock);
  (await flow.acquire()).done({ throttledForMs: 1000 });
  assert.equal(flow.limit, 6);
  let granted: FlowPermit | undefined;
  const waiting = flow.acquire().then((permit) => {
    granted = permit;
  });
  clock.advance(999);
  await Promise.resolve();
  assert.equal(granted, undefined);
  clock.advance(1);
  await waiting;
  assert.equal(flow.inFlight, 1);
});

test("permits are given first come, first served, and an aborted waiter leaves the line", async () => {
  const flow = new FlowControl({ initialInFlight: 1, minInFlight: 1 }, manualClock());
  const first = await flow.acquire();
  const order: string[] = [];
  const controller = new AbortController();
  const second = flow.acquire(controller.signal).then(() => order.push("second"));
  const third = flow.acquire().then((permit) => {
    order.push("third");
    return permit;
  });
  const fourth = flow.acquire().then(() => order.push("fourth"));
  controller.abort(new Error("gone"));
  await assert.rejects(second, /gone/);
  first.done({});
  (await third).done({});
  await fourth;
  assert.deepEqual(order, ["third", "fourth"]);
});

test("giving a permit back twice counts once", async () => {
  const flow = new FlowControl({}, manualClock());
  const [one] = [await flow.acquire(), await flow.acquire()];
  one.done({});
  one.done({});
  assert.equal(flow.inFlight, 1);
});
