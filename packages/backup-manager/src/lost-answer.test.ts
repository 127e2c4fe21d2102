import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createIntent, findLostBackup, findLostRestore, type SearchOptions } from "./lost-answer.ts";
import type { Backup, Restore } from "./types.ts";

const minute = 60_000;
const hour = 60 * minute;
const sentAtMs = Date.UTC(2026, 2, 1, 12);
const intent = { newestIdBefore: 5, newestAtMsBefore: sentAtMs - 24 * hour, sentAtMs };

const backup = (id: number, afterMs?: number, state = "done"): Backup => ({
  id,
  state,
  downloadable: false,
  ...(afterMs === undefined ? {} : { triggeredAtMs: sentAtMs + afterMs }),
});
const restore = (id: number, backupId?: number, afterMs = 1_000): Restore => ({
  id,
  state: "running",
  backupId,
  triggeredAtMs: sentAtMs + afterMs,
});
const at = (afterMs: number, claimed: readonly number[] = []): SearchOptions => ({
  nowMs: sentAtMs + afterMs,
  claimed: new Set(claimed),
});

/** The kind and the ids that come out. */
function told(backups: readonly Backup[], options: SearchOptions): string {
  const answer = findLostBackup(backups, intent, options);
  if (answer.kind === "found") return `found ${answer.item.id}`;
  if (answer.kind === "several") return `several ${answer.items.map(({ id }) => id).join()}`;
  return answer.kind === "wait" ? `wait ${answer.forMs}` : "none";
}

const old = [backup(3, -30 * 24 * hour), backup(5, -24 * hour)];
const cases: readonly (readonly [string, readonly Backup[], SearchOptions, string])[] = [
  ["the one that is new", [...old, backup(6, 1_000)], at(minute), "found 6"],
  ["the one that is new, in any order", [backup(6, 1_000), ...old], at(minute), "found 6"],
  ["a new one that has failed", [...old, backup(6, 1_000, "failed")], at(minute), "found 6"],
  [
    "a new one that retention has deleted",
    [...old, backup(6, 1_000, "deleted")],
    at(30 * 24 * hour),
    "found 6",
  ],
  ["a new one in an unknown state", [...old, backup(6, 1_000, "verifying")], at(minute), "found 6"],
  ["a new one without a time", [...old, backup(6)], at(minute), "found 6"],
  ["a new one by a clock that is an hour behind", [...old, backup(6, -hour)], at(minute), "found 6"],
  ["a new one by a clock that is three hours ahead", [...old, backup(6, 3 * hour)], at(minute), "found 6"],
  ["a new one that the list has twice", [backup(6, 1_000), backup(6, 1_000)], at(minute), "found 6"],
  ["one that is another resource's", [...old, backup(6, 1_000)], at(3 * minute, [6]), "none"],
  ["the other one of two", [...old, backup(6, 500), backup(7, 1_000)], at(minute, [6]), "found 7"],
  ["two, the lower id first", [...old, backup(7, 1_000), backup(6, 90_000)], at(2 * minute), "several 6,7"],
  ["a new one of a manager whose ids fall", [...old, backup(2, 1_000)], at(minute), "found 2"],
  [
    "a new one with an id that was free again",
    [backup(5, -24 * hour), backup(4, 1_000)],
    at(minute),
    "found 4",
  ],
  ["nothing new at once", old, at(0), "wait 120000"],
  ["nothing new after a minute", old, at(minute), "wait 60000"],
  ["nothing new after two minutes", old, at(2 * minute), "none"],
  ["nothing at all", [], at(hour), "none"],
  ["nothing new, and a clock that was set back", old, at(-hour), "wait 120000"],
  ["the manager's own of the next night", [...old, backup(6, 13 * hour)], at(20 * hour), "found 6"],
  [
    "ours and the manager's own of the next night",
    [backup(6, 900), backup(7, 13 * hour)],
    at(20 * hour),
    "several 6,7",
  ],
];
for (const [what, backups, options, expected] of cases) {
  test(`after a lost answer, ${what}: ${expected}`, () => assert.equal(told(backups, options), expected));
}

test("a lost restore is one of the same backup", () => {
  const find = (restores: readonly Restore[]): unknown => findLostRestore(restores, 40, intent, at(hour));
  assert.deepEqual(find([restore(6, 41)]), { kind: "none" });
  assert.deepEqual(find([restore(6, 41), restore(7, 40)]), { kind: "found", item: restore(7, 40) });
  assert.deepEqual(
    find([restore(6)]),
    { kind: "found", item: restore(6) },
    "the manager does not say of which",
  );
  assert.deepEqual(find([restore(5, 40, -25 * hour)]), { kind: "none" });
});

test("how long a request travels is the caller's to say", () => {
  const options = { ...at(10_000), settleMs: 9_000 };
  assert.deepEqual(findLostBackup([], intent, options), { kind: "none" });
  assert.deepEqual(findLostBackup([], intent, { ...options, settleMs: 11_000 }), {
    kind: "wait",
    forMs: 1_000,
  });
});

test("the intent has the highest id and the latest time, wherever they stand in the list", () => {
  assert.deepEqual(createIntent([backup(7, -hour), backup(9), backup(3, -minute)], sentAtMs), {
    newestIdBefore: 9,
    newestAtMsBefore: sentAtMs - minute,
    sentAtMs,
  });
  assert.deepEqual(createIntent([], sentAtMs), { newestIdBefore: 0, newestAtMsBefore: undefined, sentAtMs });
});

test("a list of 100,000 is looked through", () => {
  const many = Array.from({ length: 100_000 }, (_, index) => backup(index + 1, index - 200_000));
  const remembered = createIntent(many, sentAtMs);
  assert.equal(remembered.newestIdBefore, 100_000);
  const answer = findLostBackup([...many, backup(100_001, 1)], remembered, at(minute));
  assert.deepEqual(answer, { kind: "found", item: backup(100_001, 1) });
});

/** Actions of a manager between the calls of one controller that loses answers. */
const story = fc.record({
  before: fc.nat({ max: 4 }),
  /** Fate of each call: whether it arrives, and its delay. */
  sends: fc.array(fc.record({ arrives: fc.boolean(), tookMs: fc.integer({ min: 0, max: 119_000 }) }), {
    minLength: 1,
    maxLength: 6,
  }),
  /** Offset of the manager's clock. */
  offMs: fc.integer({ min: -5 * minute, max: 5 * minute }),
  /** Delays after each call until the controller looks. */
  looksAfterMs: fc.integer({ min: 0, max: 24 * hour }),
  hasTimes: fc.boolean(),
});

test("whatever is lost, a controller that does as it is told makes one backup and ends with that one", () => {
  fc.assert(
    fc.property(story, ({ before, sends, offMs, looksAfterMs, hasTimes }) => {
      const backups: Backup[] = Array.from({ length: before }, (_, index) => backup(index + 1, -hour));
      let now = sentAtMs;
      let made = 0;
      for (const { arrives, tookMs } of sends) {
        const remembered = createIntent(backups, now);
        const arrivesAt = now + tookMs;
        let isMade = false;
        const list = (): readonly Backup[] => {
          if (arrives && !isMade && now >= arrivesAt) {
            isMade = true;
            made++;
            backups.push(backup(backups.length + 1, hasTimes ? arrivesAt + offMs - sentAtMs : undefined));
          }
          return backups;
        };
        now += looksAfterMs;
        const look = (): ReturnType<typeof findLostBackup> =>
          findLostBackup(list(), remembered, { nowMs: now, claimed: new Set() });
        let answer = look();
        if (answer.kind === "wait") {
          now += answer.forMs;
          answer = look();
        }
        if (answer.kind === "found") {
          assert.equal(made, 1);
          assert.equal(answer.item.id, backups.length);
          return;
        }
        assert.equal(answer.kind, "none");
        assert.ok(!arrives, "a backup that was made is not called none");
      }
      assert.equal(made, 0);
    }),
    { numRuns: 5_000 },
  );
});
