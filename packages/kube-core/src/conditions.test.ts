import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  alarmCondition,
  conditionsOf,
  falseCondition,
  findCondition,
  isTrue,
  type NewCondition,
  setCondition,
  setConditions,
  summarizeReady,
  trueCondition,
  withCondition,
} from "./conditions.ts";

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const later = now + 60_000;

test("a new condition gets the time in whole seconds", () => {
  assert.deepEqual(setCondition(undefined, trueCondition("A"), now), [
    { type: "A", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
  ]);
});

test("Ready stands first, the others follow by type", () => {
  const list = ["B", "Ready", "A"].reduce<ReturnType<typeof setCondition>>(
    (conditions, type) => setCondition(conditions, trueCondition(type), now),
    [],
  );
  assert.deepEqual(
    list.map(({ type }) => type),
    ["Ready", "A", "B"],
  );
});

const base = falseCondition("A", "R", "Error", "m");
const moves: readonly (readonly [string, NewCondition, boolean])[] = [
  ["nothing", base, false],
  ["the message", falseCondition("A", "R", "Error", "n"), true],
  ["the severity", falseCondition("A", "R", "Info", "m"), true],
  ["the reason", falseCondition("A", "S", "Error", "m"), true],
  ["the status", trueCondition("A"), true],
];
for (const [what, change, moved] of moves) {
  test(`the time ${moved ? "moves" : "stays"} when ${what} changes`, () => {
    const before = setCondition([], base, now);
    const after = setCondition(before, change, later);
    assert.equal(after[0]?.lastTransitionTime, moved ? "2026-01-02T03:05:05Z" : "2026-01-02T03:04:05Z");
    if (!moved) assert.deepEqual(after, before);
  });
}

const order = [
  falseCondition("E", "Bad", "Error", "broken"),
  falseCondition("W", "Odd", "Warning", "strange"),
  falseCondition("I", "Soon", "Info", "wait"),
  trueCondition("T"),
  { type: "U", status: "Unknown", reason: "Asked", message: "who knows" },
] as const satisfies readonly NewCondition[];
for (const [index, worst] of order.entries()) {
  test(`Ready follows the worst of the others: ${worst.type}`, () => {
    const conditions = setConditions([], order.slice(index).toReversed(), now);
    const ready = findCondition(conditions, "Ready");
    const { type: _type, ...state } = worst;
    const {
      type: _ready,
      lastTransitionTime: _time,
      ...summary
    } = ready ?? { type: "", lastTransitionTime: "" };
    assert.deepEqual(
      Object.fromEntries(Object.entries(summary).filter(([, value]) => value !== undefined)),
      worst.status === "True" ? { status: "True" } : state,
    );
  });
}

test("of two equally bad ones the first by name speaks", () => {
  const two = [falseCondition("B", "Second", "Error", "2"), falseCondition("A", "First", "Error", "1")];
  assert.equal(findCondition(setConditions([], two, now), "Ready")?.reason, "First");
});

test("a False without a severity counts as an error, not as harmless", () => {
  const conditions = setConditions([], [{ type: "A", status: "False" }, trueCondition("B")], now);
  assert.equal(findCondition(conditions, "Ready")?.status, "False");
});

test("without other conditions there is no Ready", () => {
  assert.equal(summarizeReady([]), undefined);
  assert.deepEqual(setConditions(undefined, [], now), []);
  assert.equal(summarizeReady(setCondition([], trueCondition("Ready"), now)), undefined);
});

const change = fc.record({
  type: fc.constantFrom("A", "B", "C"),
  status: fc.constantFrom("True", "False", "Unknown"),
  reason: fc.option(fc.constantFrom("R", "S"), { nil: undefined }),
});

test("setting the same conditions again changes nothing, whatever the order and the time", () => {
  fc.assert(
    fc.property(fc.uniqueArray(change, { selector: ({ type }) => type }), (changes) => {
      const first = setConditions([], changes, now);
      assert.deepEqual(setConditions(first, changes.toReversed(), later), first);
      const statuses = changes.map(({ status }) => status);
      assert.equal(isTrue(first, "Ready"), statuses.includes("True") && !statuses.includes("False"));
    }),
  );
});

test("an alarm is bad news by being True: Ready is False for its reason", () => {
  const alarm = alarmCondition("Held", "Waiting", "Warning", "somebody has to look");
  const conditions = setConditions([], [alarm, trueCondition("A")], now);
  assert.equal(findCondition(conditions, "Held")?.status, "True");
  const { status, severity, reason, message } = findCondition(conditions, "Ready") ?? {};
  assert.deepEqual(
    [status, severity, reason, message],
    ["False", "Warning", "Waiting", "somebody has to look"],
  );
});

test("a True condition without a severity is good news, whatever it says", () => {
  const found = { type: "Found", status: "True", reason: "ByName", message: "it is there" };
  assert.deepEqual(summarizeReady([found]), trueCondition("Ready"));
  assert.deepEqual(summarizeReady([{ ...found, severity: "" }]), trueCondition("Ready"));
});

test("an alarm weighs as much as a False condition of its severity", () => {
  const alarm = alarmCondition("Held", "Waiting", "Info", "soon");
  const broken = falseCondition("A", "Bad", "Error", "broken");
  assert.equal(summarizeReady([alarm, broken])?.reason, "Bad");
  assert.equal(summarizeReady([alarm, falseCondition("Z", "Late", "Info", "later")])?.reason, "Waiting");
});

test("other fields of a condition are those of the last time, and do not move its time", () => {
  const first = withCondition([], { type: "Synced", status: "True", observedGeneration: 1 }, "t0");
  const second = withCondition(first, { type: "Synced", status: "True", observedGeneration: 2 }, "t1");
  assert.deepEqual(second, [
    { type: "Synced", status: "True", observedGeneration: 2, lastTransitionTime: "t0" },
  ]);
});

test("the conditions of any object are read, and malformed entries are left out", () => {
  const good = { type: "Established", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" };
  const odd = [null, "text", [], { type: "A" }, { status: "True" }, { type: "A", status: "True", reason: 1 }];
  assert.deepEqual(conditionsOf({ status: { conditions: [...odd, good] } }), [good]);
  assert.ok(isTrue(conditionsOf({ status: { conditions: [good] } }), "Established"));
  for (const object of [undefined, {}, { status: null }, { status: { conditions: {} } }, { status: [good] }])
    assert.deepEqual(conditionsOf(object), []);
});

test("a condition that is not there is neither True nor found", () => {
  assert.equal(isTrue(undefined, "Ready"), false);
  assert.equal(isTrue([], "Ready"), false);
  assert.equal(findCondition([trueCondition("A")], "B"), undefined);
});
