import assert from "node:assert/strict";
import { test } from "node:test";
import { LimitHold } from "./limit-hold.ts";

interface Fixture {
  readonly hold: LimitHold;
  /** Returns the keys that were woken since the last call. */
  readonly woken: () => readonly string[];
}

function start(...refused: readonly string[]): Fixture {
  const keys: string[] = [];
  const hold = new LimitHold({
    plural: "widgets",
    retryMs: 4_000,
    wake: (more) => void keys.push(...more),
    onChange: () => undefined,
  });
  for (const key of refused) hold.refused(key, "Exceeded");
  return { hold, woken: () => keys.splice(0) };
}
const waiting = ({ hold }: Fixture, ...keys: readonly string[]): readonly string[] =>
  keys.filter((key) => hold.wordsFor(key) !== undefined);

test("a refused claim waits and says the limit; no other does", () => {
  const { hold } = start("a/one");
  assert.equal(
    hold.wordsFor("a/one"),
    "the provider takes no more widgets of this cluster; ask the platform team",
  );
  hold.set({ max: 3, used: 3, contact: "Ann" });
  assert.equal(hold.wordsFor("a/one"), "this cluster may have 3 widgets, has 3; ask Ann");
  assert.equal(hold.wordsFor("a/two"), undefined);
});

test("a number of the provider that is late is corrected by its refusal, one above the limit is told", () => {
  const { hold } = start("a/one", "a/two");
  hold.set({ max: 1, used: 0 });
  assert.equal(hold.wordsFor("a/one"), undefined, "there is room, so it is sent again");
  hold.refused("a/one", "Exceeded");
  assert.equal(hold.wordsFor("a/one"), "this cluster may have 1 widgets, has 1");
  hold.set({ max: 1, used: 4 });
  assert.equal(hold.wordsFor("a/one"), "this cluster may have 1 widgets, has 4");
});

test("as many are sent again as there is room for, the longest waiting first, and the others show other words", () => {
  const fixture = start("one", "two", "three", "four");
  const { hold, woken } = fixture;
  hold.set({ max: 3, used: 3 });
  assert.deepEqual(woken(), ["one", "two", "three", "four"], "for the words");
  hold.set({ max: 5, used: 3 });
  assert.deepEqual(woken(), ["one", "two", "three", "four"]);
  assert.deepEqual(waiting(fixture, "one", "two", "three", "four"), ["three", "four"]);
  hold.set({ max: 5, used: 4 });
  assert.deepEqual(woken(), [], "the room is for those that are being sent");
});

test("each that goes up lets two more try, and one that is refused again lets none", () => {
  const { hold, woken } = start("one", "two", "three", "four");
  hold.set({ max: 1, used: 0 });
  assert.equal(woken()[0], "one");
  hold.created("one");
  assert.deepEqual(woken(), ["two", "three"]);
  hold.refused("two", "Exceeded");
  hold.refused("three", "Exceeded");
  assert.deepEqual(woken(), []);
  hold.created("another");
  assert.deepEqual(woken(), [], "a claim that did not wait says nothing about room");
});

test("without a change one is tried after 1, 2, 4 and again 4 seconds", () => {
  const { hold, woken } = start("one", "two");
  const times: number[] = [];
  for (let now = 0; now <= 15_000; now += 500) {
    hold.retry(now);
    for (const key of woken()) {
      times.push(now);
      hold.refused(key, "Exceeded");
    }
  }
  assert.deepEqual(times, [1_000, 3_000, 7_000, 11_000, 15_000]);
});

test("nothing is tried while none waits, and a claim that is gone does not wait", () => {
  const fixture = start("one");
  fixture.hold.forget("one");
  assert.equal(fixture.hold.retry(0), undefined);
  assert.deepEqual(waiting(fixture, "one"), []);
});

test("a limit that is lifted lets the first try, and its success the others", () => {
  const { hold, woken } = start("one", "two", "three");
  hold.set({ max: 0, used: 0 });
  woken();
  hold.set(undefined);
  assert.equal(woken()[0], "one");
  hold.created("one");
  assert.deepEqual(woken(), ["two", "three"]);
});

test("claims that wait for the provider's count say no limit, are tried every few seconds, and go up one after the other", () => {
  const { hold, woken } = start();
  for (const key of ["one", "two", "three"]) hold.refused(key, "NotCounted");
  assert.ok(hold.awaitsCount("one"));
  assert.equal(hold.wordsFor("one"), undefined);
  const times: number[] = [];
  for (let now = 0; now <= 15_000; now += 500) {
    hold.retry(now);
    for (const key of woken()) {
      times.push(now);
      assert.ok(!hold.awaitsCount(key), "it is sent, as if it were new");
      hold.refused(key, "NotCounted");
    }
  }
  assert.deepEqual(times, [1_000, 3_000, 7_000, 11_000, 15_000]);
  hold.retry(19_000);
  const [first = ""] = woken();
  hold.created(first);
  assert.equal(woken().length, 2);
});

test("the wait for the count has a limit of its own, below that of a limit that is reached", () => {
  const keys: string[] = [];
  const wake = (more: readonly string[]): void => void keys.push(...more);
  const hold = new LimitHold({ plural: "widgets", retryMs: 60_000, wake, onChange: () => undefined });
  hold.refused("one", "NotCounted");
  const times: number[] = [];
  for (let now = 0; now <= 30_000; now += 500) {
    hold.retry(now);
    for (const key of keys.splice(0)) {
      times.push(now);
      hold.refused(key, "NotCounted");
    }
  }
  assert.deepEqual(times, [1_000, 3_000, 7_000, 11_000, 15_000, 19_000, 23_000, 27_000]);
});

test("a claim that waited for the count says the limit when that is reached, and waits no more when it is gone", () => {
  const { hold } = start();
  hold.set({ max: 0, used: 0 });
  hold.refused("one", "NotCounted");
  assert.equal(hold.wordsFor("one"), undefined);
  hold.refused("one", "Exceeded");
  assert.ok(!hold.awaitsCount("one"));
  assert.equal(hold.wordsFor("one"), "this cluster may have 0 widgets, has 0");
  hold.refused("two", "NotCounted");
  hold.forget("two");
  assert.ok(!hold.awaitsCount("two"));
});
