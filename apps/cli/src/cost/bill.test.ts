import assert from "node:assert/strict";
import { test } from "node:test";
import {
  missingAnnotation,
  serviceNamespaceAnnotation,
  type ServiceInstance,
  type UsageLedger,
  usageAnnotation,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { type BillLine, billOf as wholeBillOf, PriceBook, type Recorded } from "@klutch/services";
import fc from "fast-check";
import { printedBill, totalsOf } from "./print.ts";

const day = 24 * 3_600;
const used = { service: "pg", plan: "small", config: "broker" };
const now = Date.UTC(2026, 10, 11);
const period = { since: "2026-11", until: undefined, now };
const perHour = (text: string, currency = "EUR") => ({ currency, perHour: text });
const book = new PriceBook([{ service: "pg", plan: "small", price: perHour("0.1") }]);

const namespace = (name: string, owner: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, annotations: { [serviceNamespaceAnnotation]: owner } },
});

function instance(uid: string, annotations: Readonly<Record<string, string>>): ServiceInstance {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: uid, uid, annotations, labels: { "crossplane.io/claim-namespace": "klutch-a-team" } },
    spec: {
      forProvider: {
        acceptsIncomplete: true,
        serviceName: "pg",
        planName: "small",
        organizationGuid: "o",
        spaceGuid: "s",
      },
    },
  };
}

const since = (from: string): Readonly<Record<string, string>> => ({
  [usageAnnotation]: JSON.stringify({ closed: [], open: { ...used, from } }),
});

function ledger(rows: UsageLedger["spec"]["rows"], uids: readonly string[] = []): UsageLedger {
  const recorded = uids.map((uid) => ({ uid, at: "2026-11-10T00:00:00Z" }));
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "UsageLedger",
    metadata: { name: "klutch-a-team.2026" },
    spec: { namespace: "klutch-a-team", year: 2026, rows, recorded },
  };
}

const billOf = (...args: Parameters<typeof wholeBillOf>): readonly BillLine[] => {
  const { lines, damaged } = wholeBillOf(...args);
  assert.deepEqual(damaged, []);
  return lines;
};
const row = (seconds: number, month = "2026-11") => ({ ...used, month, seconds, ended: 1 });
const recorded = (some: Partial<Recorded>): Recorded => ({
  instances: [],
  backups: [],
  ledgers: [],
  namespaces: [namespace("klutch-a-team", "klutch-a/team")],
  ...some,
});

test("a tenant pays for instances that are gone and for living ones", () => {
  const bill = billOf(
    recorded({ ledgers: [ledger([row(day)])], instances: [instance("one", since("2026-10-31T00:00:00Z"))] }),
    book,
    period,
  );
  assert.deepEqual(bill, [
    {
      ...used,
      tenant: "klutch-a",
      month: "2026-11",
      seconds: 11 * day,
      ended: 1,
      currency: "EUR",
      micros: 26_400_000n,
    },
  ]);
  assert.deepEqual(totalsOf(bill), [{ currency: "EUR", cost: "26.40" }]);
});

test("an instance that is in a ledger and still there counts once", () => {
  const both = recorded({
    ledgers: [ledger([row(day)], ["one"])],
    instances: [instance("one", since("2026-11-10T00:00:00Z"))],
  });
  assert.deepEqual(
    billOf(both, book, period).map(({ seconds }) => seconds),
    [day],
  );
});

test("a lost instance costs nothing from when its broker first missed it", () => {
  const lost = instance("one", {
    ...since("2026-11-01T00:00:00Z"),
    [missingAnnotation]: JSON.stringify({ since: Date.UTC(2026, 10, 3), confirmed: true }),
  });
  assert.deepEqual(
    billOf(recorded({ instances: [lost] }), book, period).map(({ seconds }) => seconds),
    [2 * day],
  );
});

test("months outside the period do not count, and a plan without a price is shown without one", () => {
  const rows = [
    row(1, "2026-09"),
    row(2, "2026-10"),
    row(4, "2026-11"),
    { ...row(8, "2026-10"), plan: "big" },
  ];
  const bill = billOf(recorded({ ledgers: [ledger(rows)] }), book, {
    since: "2026-10",
    until: "2026-11",
    now,
  });
  assert.deepEqual(
    bill.map(({ plan, seconds, currency }) => [plan, seconds, currency]),
    [
      ["big", 8, undefined],
      ["small", 2, "EUR"],
    ],
  );
  assert.match(
    printedBill(bill, { since: "2026-10", until: "2026-11" }, undefined),
    /big +0\.00 +- +- +- +no price\n/,
  );
});

for (const [lie, damage, fault] of [
  [
    "-1 seconds",
    { seconds: -1 },
    /^spec\.rows\[1\]\.seconds is not a whole number between 0 and 1000000000000$/,
  ],
  ["half a second", { seconds: 0.5 }, /^spec\.rows\[1\]\.seconds is not/],
  ["seconds as text", { seconds: "1e3" }, /^spec\.rows\[1\]\.seconds is not/],
  ["2^53 seconds", { seconds: 2 ** 53 }, /^spec\.rows\[1\]\.seconds is not/],
  ["as many seconds as a number holds", { seconds: Number.MAX_SAFE_INTEGER }, /seconds is not/],
  ["a negative count", { ended: -1 }, /^spec\.rows\[1\]\.ended is not/],
  ["a month that is none", { month: "2026-13" }, /^spec\.rows\[1\]\.month is no month, such as 2026-11$/],
  ["a plan that is no text", { plan: {} }, /^spec\.rows\[1\]\.plan is no text$/],
] as const) {
  test(`a ledger with ${lie} is named with its field, hides itself, and no other`, () => {
    const lying = ledger([row(day), { ...row(day), ...damage } as unknown as ReturnType<typeof row>]);
    const ledgers = [ledger([row(7)]), { ...lying, metadata: { name: "liar" } }];
    const { lines, damaged } = wholeBillOf(recorded({ ledgers }), book, period);
    assert.deepEqual(
      lines.map(({ seconds }) => seconds),
      [7],
    );
    assert.deepEqual(
      damaged.map(({ name }) => name),
      ["liar"],
    );
    assert.match(damaged[0]?.fault ?? "", fault);
  });
}

test("a ledger without rows, or without a spec, is damaged and no crash", () => {
  for (const spec of [undefined, {}, { rows: {} }, { rows: [null] }, { rows: [], recorded: [7] }]) {
    const ledgers = [{ ...ledger([]), spec } as unknown as UsageLedger];
    const { lines, damaged } = wholeBillOf(recorded({ ledgers }), book, period);
    assert.deepEqual([lines.length, damaged.length], [0, 1], JSON.stringify(spec));
  }
});

test("10,000 services, each with the largest row, are added exactly", () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({
    ...row(1_000_000_000_000),
    service: `s${index % 5_000}`,
  }));
  const bill = billOf(recorded({ ledgers: [ledger(rows)] }), book, period);
  assert.equal(bill.length, 5_000);
  assert.ok(bill.every(({ seconds }) => seconds === 2_000_000_000_000));
});

test("amounts of two currencies are never added", () => {
  const two = new PriceBook([
    { service: "pg", plan: "small", price: perHour("1") },
    { service: "pg", plan: "big", price: perHour("1", "USD") },
  ]);
  const bill = billOf(
    recorded({ ledgers: [ledger([row(3_600), { ...row(3_600), plan: "big" }])] }),
    two,
    period,
  );
  assert.deepEqual(totalsOf(bill), [
    { currency: "USD", cost: "1.00" },
    { currency: "EUR", cost: "1.00" },
  ]);
});

test("names in CSV run no formula and break no line", () => {
  const line: BillLine = {
    ...used,
    plan: '=HYPERLINK("http://evil")',
    service: "a,b\nc",
    tenant: "klutch-a",
    month: "2026-11",
    seconds: 3_600,
    ended: 0,
    currency: "EUR",
    micros: 100_000n,
  };
  assert.equal(
    printedBill([line], period, "csv"),
    'tenant,service,plan,broker,month,seconds,ended,cost,currency,backups,backupSeconds,unsizedBackupSeconds,backupByteSeconds,backupCost,bytes,unsizedDatabases\nklutch-a,"a,b\nc","\'=HYPERLINK(""http://evil"")",broker,2026-11,3600,0,0.10,EUR,,,,,,,\n',
  );
  assert.ok(!printedBill([{ ...line, plan: "a\u001b[2Jb" }], period, undefined).includes("\u001b"));
});

test("the total is the sum of the lines of the CSV, to the last digit", () => {
  const lines = fc.array(
    fc.record({ seconds: fc.integer({ min: 0, max: 10 ** 9 }), plan: fc.constantFrom("a", "b", "c") }),
  );
  const odd = new PriceBook(
    ["a", "b", "c"].map((plan) => ({ service: "pg", plan, price: perHour("0.000007") })),
  );
  fc.assert(
    fc.property(lines, (all) => {
      const rows = all.map(({ seconds, plan }) => ({ ...row(seconds), plan }));
      const bill = billOf(recorded({ ledgers: [ledger(rows)] }), odd, period);
      const csv = printedBill(bill, period, "csv").trim().split("\n").slice(1);
      const sum = csv.reduce((micros, text) => micros + toMicros(text.split(",")[7] ?? "0"), 0n);
      const [total] = totalsOf(bill);
      assert.equal(toMicros(total?.cost ?? "0"), sum);
    }),
  );
});

function toMicros(text: string): bigint {
  const [whole = "0", fraction = ""] = text.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}
