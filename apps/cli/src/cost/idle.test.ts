import assert from "node:assert/strict";
import { test } from "node:test";
import type { BillLine, IdleDatabase } from "@klutch/services";
import { idleDaysIn, idleWords, printedIdle } from "./idle.ts";
import { printedBill } from "./print.ts";

const orders: IdleDatabase = {
  tenant: "klutch-a",
  namespace: "team",
  claim: "orders",
  service: "pg",
  plan: "small",
  config: "broker",
  lastSession: "2026-10-20T06:00:00Z",
  at: "2026-11-29T06:00:00Z",
  days: 40,
  bytes: 7 * 2 ** 30,
  perMonth: { amount: "25.00", currency: "EUR" },
};
const silent: IdleDatabase = { ...orders, claim: "logs", bytes: undefined, perMonth: undefined };
const report = { databases: [orders, silent], existing: 5, known: 3 };

test("days are asked for as a number, with or without a d; 30 is the default", () => {
  assert.deepEqual([undefined, true, "7", "90d"].map(idleDaysIn), [undefined, 30, 7, 90]);
  for (const wrong of ["0", "-1", "1.5d", "30h", "", "99999", "d"])
    assert.throws(() => idleDaysIn(wrong), /no number of days from 1 to 3650; write for example 30d/, wrong);
});

test("an idle database is named with its tenant, its claim, its plan, its last session and its price", () => {
  const [header, first, second] = (printedIdle(report, 30, undefined) ?? "").split("\n");
  assert.match(
    header ?? "",
    /^TENANT +NAMESPACE +CLAIM +SERVICE +PLAN +LAST-SESSION +DAYS +SIZE +PER-MONTH +CURRENCY$/,
  );
  assert.match(
    first ?? "",
    /^klutch-a +team +orders +pg +small +2026-10-20T06:00:00Z +40 +7\.0 GiB +25\.00 +EUR$/,
  );
  assert.match(second ?? "", / logs +pg +small +2026-10-20T06:00:00Z +40 +unknown +no price$/);
  assert.match(
    printedIdle(report, 30, "wide") ?? "",
    /CURRENCY +BROKER +ASKED\n.* broker +2026-11-29T06:00:00Z\n/,
  );
});

test("programs get exact values, and no field for an unknown value", () => {
  const { idle, ...counts } = JSON.parse(printedIdle(report, 30, "json") ?? "") as {
    readonly idle: readonly object[];
  };
  assert.deepEqual(counts, { days: 30, existing: 5, known: 3 });
  assert.deepEqual(idle[0], {
    tenant: "klutch-a",
    namespace: "team",
    claim: "orders",
    service: "pg",
    plan: "small",
    broker: "broker",
    lastSession: "2026-10-20T06:00:00Z",
    asked: "2026-11-29T06:00:00Z",
    days: 40,
    bytes: 7_516_192_768,
    perMonth: "25.00",
    currency: "EUR",
  });
  assert.ok(!Object.keys(idle[1] ?? {}).some((name) => ["bytes", "perMonth", "currency"].includes(name)));
  assert.equal(
    printedIdle(report, 30, "csv"),
    "tenant,namespace,claim,service,plan,broker,lastSession,asked,days,bytes,perMonth,currency\n" +
      "klutch-a,team,orders,pg,small,broker,2026-10-20T06:00:00Z,2026-11-29T06:00:00Z,40,7516192768,25.00,EUR\n" +
      "klutch-a,team,logs,pg,small,broker,2026-10-20T06:00:00Z,2026-11-29T06:00:00Z,40,,,\n",
  );
});

test("names of claims run no formula in a spreadsheet and no escape in a terminal", () => {
  const evil = { databases: [{ ...orders, claim: "=1+1", plan: "a\u001b[2Jb" }], existing: 1, known: 1 };
  assert.match(printedIdle(evil, 30, "csv") ?? "", /,"'=1\+1",/);
  assert.ok(!(printedIdle(evil, 30, undefined) ?? "").includes("\u001b"));
});

test("silence of brokers does not look like use", () => {
  assert.match(idleWords(report, 30), /^Brokers tell the last session of 3 of 5 databases; nothing is known/);
  assert.match(
    idleWords({ databases: [], existing: 2, known: 0 }, 30),
    /^No database is known to be without a session for 30 days\. Brokers tell the last session of 0 of 2/,
  );
  assert.equal(
    idleWords({ databases: [], existing: 1, known: 1 }, 1),
    "No database is known to be without a session for 1 day.",
  );
  assert.equal(idleWords({ databases: [orders], existing: 1, known: 1 }, 30), "");
  assert.equal(idleWords({ databases: [], existing: 0, known: 0 }, 30), "No database exists.");
});

test("a line of the bill shows the size of its databases, and a dash where none is known", () => {
  const line: BillLine = {
    tenant: "klutch-a",
    service: "pg",
    plan: "small",
    config: "broker",
    month: "2026-11",
    seconds: 3_600,
    ended: 0,
    currency: "EUR",
    micros: 100_000n,
  };
  const data = { bytes: 3n * 2n ** 30n, sized: 2, unsized: 0 };
  const shown = (one: BillLine): string =>
    printedBill([one], { since: "2026-11", until: undefined }, undefined);
  assert.match(shown({ ...line, data }), /small +1\.00 +3\.0 GiB +-/);
  assert.match(shown({ ...line, data: { ...data, unsized: 1 } }), /small +1\.00 +3\.0 GiB, some unknown +-/);
  assert.match(shown(line), /small +1\.00 +- +-/);
  const csv = printedBill(
    [{ ...line, data: { ...data, unsized: 1 } }, line],
    { since: "2026-11", until: undefined },
    "csv",
  );
  assert.match(csv, /,3221225472,1\n/);
  assert.match(csv, /,,\n$/);
  const both = [line, { ...line, data }, { ...line, data }];
  assert.match(printedBill(both, { since: "2026-11", until: undefined }, undefined), / 6\.0 GiB /);
});
