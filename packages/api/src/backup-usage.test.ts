import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  backupEnded,
  backupKept,
  type BackupUsage,
  backupUsageText,
  keptRowsUntil,
  mostBackupBytes,
  parsedBackupUsage,
  type SeenBackup,
} from "./backup-usage.ts";

const plan = { service: "pg", plan: "small", config: "broker" };
const createdAt = "2026-11-10T00:00:00Z";
const created = Date.parse(createdAt);
const hour = 3_600_000;
const now = created + 10 * hour;
const seen = (more: Partial<SeenBackup> = {}): SeenBackup => ({
  plan: () => plan,
  createdAt,
  finishedAtMs: created + hour,
  size: 1_000,
  sizeIsMalformed: false,
  ...more,
});
const read = (usage: BackupUsage): BackupUsage | undefined => parsedBackupUsage(backupUsageText(usage));

test("a backup counts from its end at the manager, also when the provider was away, with the plan and the size of then", () => {
  const usage = backupKept(undefined, seen(), now);
  assert.deepEqual(usage, { ...plan, from: "2026-11-10T01:00:00Z", bytes: 1_000 });
  assert.deepEqual(read(usage), usage);
  const later = backupKept(
    usage,
    seen({ plan: () => ({ ...plan, plan: "big" }), finishedAtMs: created }),
    now + hour,
  );
  assert.deepEqual(later, usage);
});

for (const [clock, finishedAtMs, from] of [
  ["is years behind", Date.UTC(1999, 0, 1), created],
  ["is years ahead", Date.UTC(2099, 0, 1), now],
  ["tells no time", undefined, now],
] as const) {
  test(`a manager whose clock ${clock} moves the beginning no further than between the creation and now`, () => {
    assert.equal(Date.parse(backupKept(undefined, seen({ finishedAtMs }), now).from), from);
  });
}

test("a size that none can be is unknown and never 0, and the fault repeats nothing of it", () => {
  for (const size of [-1, 0.5, 2 ** 50 + 1, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY]) {
    const usage = backupKept(undefined, seen({ size }), now);
    assert.deepEqual(
      [usage.bytes, usage.fault],
      [undefined, "the size is not a whole number of bytes between 0 and 2^50"],
    );
    assert.deepEqual(read(usage), usage);
  }
  assert.match(
    backupKept(undefined, seen({ size: undefined, sizeIsMalformed: true }), now).fault ?? "",
    /^the size/,
  );
  const silent = backupKept(undefined, seen({ size: undefined }), now);
  assert.deepEqual([silent.bytes, silent.fault], [undefined, undefined], "no size is no lie");
});

test("a size that comes later counts from the beginning; one that jumps is a fault, and the first one counts", () => {
  const unknown = backupKept(undefined, seen({ size: undefined }), now);
  const known = backupKept(unknown, seen({ size: 7 }), now);
  assert.deepEqual([known.bytes, known.from], [7, unknown.from]);
  const jumps = [0, 8, mostBackupBytes].map((size) => backupKept(known, seen({ size }), now));
  assert.deepEqual(new Set(jumps.map(backupUsageText)).size, 1, "jumps lead to one write");
  assert.match(jumps[0]?.fault ?? "", /another size than the 7 bytes that it told first, which count$/);
  assert.equal(jumps[0]?.bytes, 7);
  assert.match(backupKept(known, seen({ size: 1e308 }), now).fault ?? "", /^the size is not/);
  assert.deepEqual(
    backupKept(jumps[0], seen({ size: 7 }), now),
    known,
    "the fault goes when the size is right",
  );
});

test("a backup ends once, and one that is found again counts all the time", () => {
  const usage = backupKept(undefined, seen(), now);
  const ended = backupEnded(usage, now);
  assert.deepEqual(backupEnded(ended, now + hour), ended);
  assert.deepEqual(read(ended), ended);
  assert.equal(keptRowsUntil(ended, now + 5 * hour)[0]?.backups.seconds, 9 * 3_600);
  assert.deepEqual(backupKept(ended, seen(), now + hour), usage);
});

test("months are cut in UTC, and a backup is made once", () => {
  const usage = { ...plan, from: "2026-11-30T23:00:00Z", bytes: 3 };
  const rows = keptRowsUntil(usage, Date.parse("2026-12-01T02:00:00Z"));
  assert.deepEqual(rows, [
    {
      ...plan,
      month: "2026-11",
      backups: { made: 1, seconds: 3_600, unsizedSeconds: 0, byteSeconds: 10_800n },
    },
    {
      ...plan,
      month: "2026-12",
      backups: { made: 0, seconds: 7_200, unsizedSeconds: 0, byteSeconds: 21_600n },
    },
  ]);
});

test("a clock that is set back, or an end in the future, counts no time that has not passed", () => {
  const usage = { ...plan, from: "2026-11-10T00:00:00Z", bytes: 3 };
  const before = keptRowsUntil(usage, created - hour);
  assert.deepEqual(before[0]?.backups, { made: 1, seconds: 0, unsizedSeconds: 0, byteSeconds: 0n });
  const forged = { ...usage, until: "2098-01-01T00:00:00Z" };
  assert.equal(keptRowsUntil(forged, created + hour)[0]?.backups.seconds, 3_600);
});

test("no annotation, however damaged, counts bytes that no backup can have", () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      -1,
      1e308,
      2 ** 60,
      "9",
      null,
      {},
      "2026-11-10T00:00:00Z",
      "0001-01-01T00:00:00Z",
      "pg",
    ),
    fc.anything(),
  );
  const fields = fc.record(
    { service: value, plan: value, config: value, from: value, until: value, bytes: value, fault: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fields.map((all) => JSON.stringify(all)),
        fc.string(),
      ),
      (text) => {
        const usage = parsedBackupUsage(text);
        if (usage === undefined) return;
        for (const { backups } of keptRowsUntil(usage, now)) {
          assert.ok(backups.seconds >= 0 && backups.seconds <= 31 * 24 * 3_600);
          assert.ok(backups.byteSeconds >= 0n);
          assert.ok(backups.byteSeconds <= BigInt(mostBackupBytes) * BigInt(backups.seconds));
        }
      },
    ),
  );
});
