import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { seededRandom } from "./model/faults.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("time stands still until it is advanced, and then timers fire in order of their due time", async () => {
  const clock = new VirtualClock({ startMs: 1_000 });
  const fired: string[] = [];
  clock.schedule(30, () => fired.push(`c ${clock.monotonic()}`));
  clock.schedule(10, () => fired.push(`a ${clock.monotonic()}`));
  clock.schedule(10, () => fired.push(`b ${clock.monotonic()}`));
  await clock.advance(0);
  assert.deepEqual(fired, []);
  await clock.advance(29);
  assert.deepEqual(fired, ["a 10", "b 10"]);
  assert.equal(clock.now(), 1_029);
  assert.equal(clock.nextDueAt, 30);
  await clock.advance(100);
  assert.deepEqual(fired, ["a 10", "b 10", "c 30"]);
  assert.equal(clock.nextDueAt, undefined);
});

test("promises settle between two timers of the same instant, code that yields to the event loop included", async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const worker = async (name: string): Promise<void> => {
    await clock.sleep(5);
    seen.push(`${name} woke`);
    for (let round = 0; round < 20; round++) await turn();
    await Promise.resolve();
    seen.push(`${name} done`);
  };
  const work = Promise.all([worker("a"), worker("b")]);
  await clock.advance(5);
  await work;
  assert.deepEqual(seen, ["a woke", "a done", "b woke", "b done"]);
});

test("a cancelled timer does not fire, and an aborted sleep rejects with the signal's reason", async () => {
  const clock = new VirtualClock();
  const cancel = clock.schedule(5, () => assert.fail("it was cancelled"));
  cancel();
  const controller = new AbortController();
  const sleep = clock.sleep(50, { signal: controller.signal });
  clock.schedule(10, () => controller.abort(new Error("enough")));
  const expectation = assert.rejects(sleep, /enough/);
  await clock.advance(20);
  await expectation;
  assert.equal(clock.nextDueAt, undefined);
  await assert.rejects(clock.sleep(5, { signal: controller.signal }), /enough/);
});

test("the wall clock can jump without any duration noticing", async () => {
  const clock = new VirtualClock({ startMs: 0 });
  let isFired = false;
  clock.schedule(100, () => {
    isFired = true;
  });
  clock.skew(-3_600_000);
  await clock.advance(99);
  assert.equal(clock.now(), -3_600_000 + 99);
  assert.equal(isFired, false);
  await clock.advance(1);
  assert.equal(isFired, true);
});

test("a run ends early when its condition holds, and resolve gives back a promise's outcome or says that it waits", async () => {
  const clock = new VirtualClock();
  let count = 0;
  const tick = (): void => {
    count++;
    clock.schedule(10, tick);
  };
  clock.schedule(10, tick);
  assert.equal(await clock.run({ untilMs: 1_000, until: () => count === 3 }), true);
  assert.equal(clock.monotonic(), 30);
  assert.equal(await clock.run({ untilMs: 100, until: () => count === 99 }), false);
  assert.equal(clock.monotonic(), 100);
  assert.equal(await clock.resolve(clock.sleep(5).then(() => "woke")), "woke");
  await assert.rejects(clock.resolve(Promise.reject(new Error("no"))), /no/);
  await assert.rejects(clock.resolve(new Promise<never>(() => {}), 50), /still waiting after 50/);
});

test("timers of one instant keep their order, or take one from a seed", async () => {
  const order = async (seed?: number): Promise<string> => {
    const clock = new VirtualClock({ tieBreak: seed === undefined ? undefined : seededRandom(seed) });
    const fired: number[] = [];
    for (let index = 0; index < 8; index++) clock.schedule(1, () => fired.push(index));
    await clock.advance(1);
    return fired.join("");
  };
  assert.equal(await order(), "01234567");
  assert.equal(await order(4), await order(4));
  assert.notEqual(await order(4), await order(5));
});

test("ten thousand timers in random order fire sorted", async () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const fired: number[] = [];
  const cancels: (() => void)[] = [];
  for (let index = 0; index < 10_000; index++) {
    cancels.push(clock.schedule(Math.floor(random() * 1_000), () => fired.push(clock.monotonic())));
  }
  for (const [index, cancel] of cancels.entries()) if (index % 10 !== 0) cancel();
  await clock.advance(1_000);
  assert.equal(fired.length, 1_000);
  assert.deepEqual(
    fired,
    fired.toSorted((left, right) => left - right),
  );
});
