/** Backups in a bill: their time, their bytes and their price. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Backup, backupUsageText, type LedgerBackups, type UsageLedger } from "@klutch/api";
import { type Bill, billOf, PriceBook, type Recorded } from "@klutch/services";
import { printedBill } from "./print.ts";

const used = { service: "pg", plan: "small", config: "broker" };
const hour = 3_600;
const now = Date.UTC(2026, 10, 11);
const period = { since: "2026-11", until: undefined, now };
const price = { currency: "EUR", perHour: "0.1", backupPerGiBMonth: "0.73" };
const book = new PriceBook([{ service: "pg", plan: "small", price }]);
const gib = 2 ** 30;

function backup(uid: string, more: object = {}): Backup {
  const usage = { ...used, from: "2026-11-10T00:00:00Z", bytes: 10 * gib, ...more };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "Backup",
    metadata: {
      name: uid,
      uid,
      labels: { "crossplane.io/claim-namespace": "team" },
      annotations: { "anynines.crossplane.io/usage": backupUsageText(usage) },
    },
    spec: { forProvider: { instanceName: "db" } },
  };
}

function ledger(backups: unknown, uids: readonly string[] = []): UsageLedger {
  const row = { ...used, month: "2026-11", seconds: hour, ended: 1 };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "UsageLedger",
    metadata: { name: "team.2026" },
    spec: {
      namespace: "team",
      year: 2026,
      rows: [{ ...row, ...(backups === undefined ? {} : { backups: backups as LedgerBackups }) }],
      recorded: uids.map((uid) => ({ uid, at: "2026-11-10T00:00:00Z" })),
    },
  };
}

const gone = { made: 1, seconds: hour, unsizedSeconds: 0, byteSeconds: String(gib * hour) };
const bill = (some: Partial<Recorded>): Bill =>
  billOf({ instances: [], backups: [], ledgers: [], namespaces: [], ...some }, book, period);

test("backups cost what their bytes were kept, beside the database, with those that are gone", () => {
  const { lines, damaged, doubtful } = bill({ backups: [backup("b")], ledgers: [ledger(gone)] });
  assert.deepEqual([damaged, doubtful], [[], []]);
  const byteSeconds = BigInt(gib) * BigInt(10 * 24 * hour + hour);
  assert.deepEqual(lines, [
    {
      ...used,
      tenant: "team",
      month: "2026-11",
      seconds: hour,
      ended: 1,
      // 241 GiB-hours; an hour of a GiB costs 0.001.
      backups: { made: 2, seconds: 25 * hour, unsizedSeconds: 0, byteSeconds, micros: 241_000n },
      currency: "EUR",
      micros: 341_000n,
    },
  ]);
});

test("a backup that is in a ledger and still there counts once", () => {
  const { lines } = bill({ backups: [backup("b")], ledgers: [ledger(gone, ["b"])] });
  assert.deepEqual(
    lines.map(({ backups }) => backups?.made),
    [1],
  );
});

test("a ledger of the previous release is read as it was: it has no backups, and its cost is the same", () => {
  const { lines, damaged } = bill({ ledgers: [ledger(undefined)] });
  assert.deepEqual(damaged, []);
  assert.deepEqual(lines, [
    { ...used, tenant: "team", month: "2026-11", seconds: hour, ended: 1, currency: "EUR", micros: 100_000n },
  ]);
  assert.match(printedBill(lines, period, "csv"), /^team,pg,small,broker,2026-11,3600,1,0\.10,EUR,,,,,,,$/m);
  assert.match(printedBill(lines, period, undefined), /^team +pg +small +1\.00 +- +- +- +0\.10 +EUR$/m);
});

test("people and programs see counts, bytes and the price of backups with their units", () => {
  const { lines } = bill({ backups: [backup("b")], ledgers: [ledger(undefined)] });
  assert.match(printedBill(lines, period, undefined), /HOURS +SIZE +BACKUPS +BACKUP-GIB-MONTHS +COST/);
  assert.match(printedBill(lines, period, undefined), /^team +pg +small +1\.00 +- +1 +0\.329 +0\.34 +EUR$/m);
  assert.match(printedBill(lines, period, "wide"), / 1\.00 +- +1 +24\.00 +0\.329 +0\.24 +0\.34 +EUR$/m);
  const [header, line] = printedBill(lines, period, "csv").split("\n");
  assert.match(
    header ?? "",
    /,backups,backupSeconds,unsizedBackupSeconds,backupByteSeconds,backupCost,bytes,unsizedDatabases$/,
  );
  assert.match(line ?? "", /,0\.34,EUR,1,86400,0,927712935936000,0\.24,,$/);
});

test("an unknown size is said, is in no total, and is never 0 bytes", () => {
  const unsized = backup("b", { bytes: undefined });
  const { lines } = bill({ backups: [unsized] });
  const [line] = lines;
  assert.deepEqual([line?.backups?.unsizedSeconds, line?.backups?.micros, line?.micros], [24 * hour, 0n, 0n]);
  assert.match(printedBill(lines, period, undefined), /^team +pg +small +0\.00 +- +1 +size unknown/m);
  assert.doesNotMatch(printedBill(lines, period, "json"), /backupByteSeconds/);
  assert.match(printedBill(lines, period, "csv"), /,1,86400,86400,,0\.00,,$/m);
  const both = bill({ backups: [unsized, backup("c", { bytes: 1 })] }).lines;
  assert.match(printedBill(both, period, undefined), / <0\.001, some unknown /);
});

test("a size in doubt is named with its Backup, and so is whether the first size counts", () => {
  const { doubtful } = bill({
    backups: [backup("b", { fault: "it jumps" }), backup("c", { bytes: undefined, fault: "it is none" })],
  });
  assert.deepEqual(doubtful, [
    { tenant: "team", name: "b", fault: "it jumps", isSized: true },
    { tenant: "team", name: "c", fault: "it is none", isSized: false },
  ]);
  const before = { instances: [], ledgers: [], namespaces: [] };
  const past = billOf({ ...before, backups: [backup("b", { fault: "it jumps" })] }, book, {
    ...period,
    since: "2026-09",
    until: "2026-11",
  });
  assert.deepEqual(past.doubtful, [], "in months before it, nothing is in doubt");
});

for (const [lie, damage, fault] of [
  ["a negative count", { made: -1 }, /^spec\.rows\[0\]\.backups\.made is not a whole number/],
  ["1e308 seconds", { seconds: 1e308 }, /^spec\.rows\[0\]\.backups\.seconds is not a whole number/],
  ["more unknown than there is", { unsizedSeconds: hour + 1 }, /\.unsizedSeconds is more than its seconds$/],
  [
    "negative bytes",
    { byteSeconds: "-1" },
    /\.byteSeconds is not a whole number between 0 and \d+ in a text$/,
  ],
  ["bytes with an exponent", { byteSeconds: "1e308" }, /\.byteSeconds is not/],
  ["bytes that no disk holds", { byteSeconds: "9".repeat(30) }, /\.byteSeconds is not/],
  ["bytes as a number", { byteSeconds: 7 }, /\.byteSeconds is not/],
  ["bytes that are none", { byteSeconds: "NaN" }, /\.byteSeconds is not/],
] as const) {
  test(`a ledger with ${lie} of backups is named with its field, and hides itself`, () => {
    const { lines, damaged } = bill({ ledgers: [ledger({ ...gone, ...damage })] });
    assert.deepEqual(lines, []);
    assert.match(damaged[0]?.fault ?? "", fault);
  });
}

for (const backups of [null, 7, "many", []]) {
  test(`a ledger whose backups are ${JSON.stringify(backups)} is damaged and no crash`, () =>
    assert.equal(bill({ ledgers: [ledger(backups)] }).damaged.length, 1));
}
