import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Cursor, History } from "./history.ts";

const roomy = { maxBytes: 1_000_000, maxAgeMs: 300_000 };
const line = (version: number): Buffer => Buffer.from(`${version}`);

function taken(cursor: Cursor | undefined): readonly string[] {
  assert.ok(cursor !== undefined, "there is no place");
  const lines: string[] = [];
  for (let next = cursor.next(); next !== undefined; next = cursor.next()) {
    lines.push(next.toString());
    if (next === "expired") break;
  }
  return lines;
}

test("a place shows exactly the events of its namespace after its version, whenever it was taken", () => {
  const event = fc.record({ namespace: fc.constantFrom("a", "b", "c"), gap: fc.integer({ min: 1, max: 3 }) });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 30 }),
      fc.nat(60),
      fc.nat(30),
      fc.constantFrom("a", "b", undefined),
      (events, after, opensAt, namespace) => {
        const history = new History(0, roomy);
        const expected: string[] = [];
        let version = 0;
        let cursor: Cursor | undefined;
        events.forEach((one, index) => {
          if (index === opensAt) cursor = history.cursor(namespace, after);
          version += one.gap;
          history.append(version, one.namespace, line(version), 0);
          if (version > after && (namespace === undefined || namespace === one.namespace))
            expected.push(String(version));
        });
        assert.deepEqual(taken(cursor ?? history.cursor(namespace, after)), expected);
      },
    ),
    { numRuns: 500 },
  );
});

test("what was dropped is not skipped: the place is expired, and no new one can be had before it", () => {
  const history = new History(0, { maxBytes: 6, maxAgeMs: 300_000 });
  const slow = history.cursor("a", 0);
  const caughtUp = history.cursor("a", 0);
  for (let version = 1; version <= 3; version++) history.append(version, "a", line(10 + version), 0);
  assert.deepEqual(taken(caughtUp), ["11", "12", "13"]);
  history.append(4, "b", line(14), 0);
  assert.equal(history.bytes, 6);
  assert.deepEqual(taken(slow), ["expired"]);
  assert.deepEqual(taken(caughtUp), [], "an event that was taken before it was dropped is not missed");
  assert.equal(history.cursor("a", 0), undefined);
  assert.deepEqual(taken(history.cursor("a", 1)), ["12", "13"]);
});

test("a namespace whose events are all dropped goes on for a place that has taken them", () => {
  const history = new History(0, { maxBytes: 1, maxAgeMs: 300_000 });
  const cursor = history.cursor("a", 0);
  for (const [version, namespace] of [
    [1, "a"],
    [2, "b"],
    [3, "b"],
  ] as const) {
    history.append(version, namespace, line(version), 0);
    if (version === 1) assert.deepEqual(taken(cursor), ["1"]);
  }
  history.append(4, "a", line(4), 0);
  assert.deepEqual(taken(cursor), ["4"]);
});

test("events are dropped by age, too", () => {
  const history = new History(0, { maxBytes: 100, maxAgeMs: 75_000 });
  history.append(1, "a", line(1), 0);
  history.drop(75_000);
  assert.equal(history.since, 0);
  history.drop(75_001);
  assert.deepEqual([history.since, history.bytes], [1, 0]);
});

test("the end of a history ends each place, also one that waits", () => {
  const history = new History(0, roomy);
  const cursor = history.cursor("a", 0);
  let news = 0;
  if (cursor !== undefined) cursor.onNews = () => void news++;
  history.end();
  assert.equal(news, 1);
  assert.equal(cursor?.next(), "expired");
  assert.equal(history.cursor("a", 0), undefined);
});

test("news of one namespace wake no place in another, and disposed places are forgotten", () => {
  const history = new History(0, roomy);
  const woken: string[] = [];
  const cursors = ["a", "b", undefined].map((namespace) => {
    const cursor = history.cursor(namespace, 0);
    if (cursor !== undefined) cursor.onNews = () => void woken.push(namespace ?? "all");
    return cursor;
  });
  history.append(1, "a", line(1), 0);
  assert.deepEqual(woken, ["all", "a"]);
  for (const cursor of cursors) cursor?.[Symbol.dispose]();
  assert.equal(history.cursors, 0);
});
