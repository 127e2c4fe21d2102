import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlacedYaml, parseYaml } from "@klutch/kube";
import { recordAt } from "@klutch/kube-core";
import fc from "fast-check";
import { instanceCompositions } from "../compositions.ts";
import { legacy } from "../generation.ts";
import { dataServiceOf } from "../table/data-service-of.ts";
import { readTable } from "../table/read-table.ts";
import { tableHead } from "../testing/table-text.ts";
import { exactMoney, gibMonth, microsOf, shownGibMonths, shownMoney } from "./money.ts";
import { monthlyMoney, monthlyPrice, monthText } from "./monthly-price.ts";
import { backupCostOf, costOf } from "./price.ts";
import { PriceBook, pricesAnnotation, readPriceList } from "./price-list.ts";
import { pricesText } from "./price-words.ts";

const head = "apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices:\n";
const read = (entries: string): ReturnType<typeof readPriceList> => readPriceList(parseYaml(head + entries));
const entry = (price: string, rest = ""): string =>
  `  - { service: pg, plan: small, ${rest}price: { currency: EUR, ${price} } }\n`;

test("a decimal is exact, and comes back as it was written", () => {
  const parts = fc.tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 999_999 }));
  fc.assert(
    fc.property(parts, ([whole, micros]) => {
      const text = `${whole}.${String(micros).padStart(6, "0")}`;
      const found = microsOf(text);
      assert.equal(found, BigInt(whole) * 1_000_000n + BigInt(micros));
      assert.equal(microsOf(exactMoney(found)), found);
    }),
  );
});

for (const text of [
  "-1",
  "+1",
  "1e9",
  "1e999999999",
  "0x10",
  ".5",
  "1.",
  "01",
  "1.0000001",
  "1234567890",
  "NaN",
  "",
  " 1",
  "1,5",
  "١",
]) {
  test(`${JSON.stringify(text)} is no price`, () => assert.equal(microsOf(text), undefined));
}

test("an hour costs its price, and a month of 730 hours its own", () => {
  assert.equal(costOf({ currency: "EUR", perHour: "0.1" }, 3_600n), 100_000n);
  assert.equal(costOf({ currency: "EUR", perMonth: "25" }, 730n * 3_600n), 25_000_000n);
  assert.equal(monthText(monthlyMoney({ currency: "EUR", perHour: "0.1" })), "73.00 EUR per month");
});

test("a GiB of backups for a month costs its price, exactly, and people see it with the plan", () => {
  const price = { currency: "EUR", perMonth: "25", backupPerGiBMonth: "0.02" };
  assert.equal(backupCostOf(price, gibMonth), 20_000n);
  const least = { ...price, backupPerGiBMonth: "0.000001" };
  assert.equal(backupCostOf(least, gibMonth / 2n), 1n, "half a millionth is rounded up");
  assert.equal(backupCostOf(least, gibMonth / 2n - 1n), 0n);
  assert.equal(backupCostOf(price, gibMonth * 10n ** 12n), 20_000n * 10n ** 12n);
  assert.equal(backupCostOf({ currency: "EUR", perMonth: "25" }, gibMonth), undefined);
  assert.equal(monthText(monthlyMoney(price)), "25.00 EUR per month, backups 0.02 EUR per GiB and month");
  assert.deepEqual([0n, 1n, gibMonth / 2_000n, gibMonth * 1_234n].map(shownGibMonths), [
    "0.000",
    "<0.001",
    "0.001",
    "1234.000",
  ]);
});

test("a cost is rounded half up to a millionth, and never below zero", () => {
  assert.equal(costOf({ currency: "EUR", perHour: "0.000001" }, 1_800n), 1n);
  assert.equal(costOf({ currency: "EUR", perHour: "0.000001" }, 1_799n), 0n);
  assert.equal(shownMoney(5_000n), "0.01");
  assert.equal(shownMoney(4_999n), "0.00");
});

test("a huge counter is counted exactly", () => {
  const seconds = BigInt(Number.MAX_SAFE_INTEGER);
  const cost = costOf({ currency: "EUR", perHour: "999999999.999999" }, seconds * 3_600n);
  assert.equal(cost, 999_999_999_999_999n * seconds);
});

test("an operator's price goes before that of a table, and a new price changes no month before it", () => {
  const { prices, faults } = read(entry('perHour: "1"') + entry('perHour: "2"', 'from: "2026-12", '));
  assert.deepEqual(faults, []);
  const ofTable = { currency: "USD", perHour: "9" };
  const book = new PriceBook(prices, [
    { service: "pg", plan: "small", price: ofTable },
    { service: "pg", plan: "big", price: ofTable },
  ]);
  assert.equal(book.at("pg", "small", "2026-11")?.perHour, "1");
  assert.equal(book.at("pg", "small", "2026-12")?.perHour, "2");
  assert.equal(book.at("pg", "small", "2027-01")?.perHour, "2");
  assert.equal(book.at("pg", "big", "2026-11")?.currency, "USD");
  assert.deepEqual(monthlyPrice(book, "pg", "small", "2026-11"), { amount: "730.00", currency: "EUR" });
  assert.equal(monthlyPrice(book, "pg", "huge", "2026-11"), undefined);
});

const lies: readonly (readonly [title: string, entries: string, fault: RegExp])[] = [
  ["a negative price", entry('perHour: "-1"'), /^prices\[0\]\.price\.perHour: is "-1"/],
  [
    "two prices of one plan",
    entry('perHour: "1"') + entry('perHour: "2"'),
    /^prices\[1\]: .*prices\[0\] is for the same/,
  ],
  ["two prices in one", entry('perHour: "1", perMonth: "2"'), /^prices\[0\]\.price: is two prices/],
  ["no month", entry('perHour: "1"', 'from: "2026-13", '), /^prices\[0\]\.from: is "2026-13"/],
  [
    "a negative price of backups",
    entry('perHour: "1", backupPerGiBMonth: "-0.02"'),
    /^prices\[0\]\.price\.backupPerGiBMonth: is "-0\.02"/,
  ],
  [
    "a price of backups alone",
    entry('backupPerGiBMonth: "0.02"'),
    /expected exactly one of perHour and perMonth|without a price/,
  ],
  ["an unknown field", entry('perHour: "1", perGiBMonth: "1"'), /perGiBMonth/],
];
for (const [title, entries, fault] of lies) {
  test(`a list with ${title} has no price at all, and the fault names the field`, () => {
    const { prices, faults } = read(entries + entry('perHour: "7"', 'from: "2020-01", '));
    assert.deepEqual(prices, []);
    assert.match(faults.join("\n"), fault);
  });
}

test("a table's prices travel with its Composition, and people read them with the plan", () => {
  const text = `${tableHead}  sizes: [{ word: small }, { word: big }]
  backends:
    - name: a9s
      default: true
      broker: {}
      services: [pg]
      plans:
        - { name: example-small, about: To try, price: { currency: EUR, perMonth: "12.5" } }
        - name: example-big
  credentials: { keys: [host] }
`;
  const { table, faults } = readTable(parsePlacedYaml(text));
  assert.deepEqual(faults, []);
  assert.ok(table !== undefined);
  const service = dataServiceOf(table);
  assert.equal(service.plansAbout["example-small"], "To try; 12.50 EUR per month");
  const [composition] = instanceCompositions(legacy, service);
  const carried = recordAt(composition, "metadata", "annotations")[pricesAnnotation];
  assert.deepEqual(readPriceList(JSON.parse(String(carried))), {
    faults: [],
    prices: [{ service: "pg", plan: "example-small", price: { currency: "EUR", perMonth: "12.5" } }],
  });
});

test("a line of prices that may not be longer counts those that do not fit", () => {
  const prices = ["small", "big", "huge"].map((plan) => ({
    plan,
    services: plan === "big" ? ["pg17"] : [],
    perMonth: { amount: "1.00", currency: "EUR" },
  }));
  assert.equal(pricesText([]), "-");
  assert.equal(pricesText(prices), "small 1.00 EUR, big 1.00 EUR (pg17), huge 1.00 EUR");
  assert.equal(pricesText(prices, 30), "small 1.00 EUR, 2 more");
  assert.equal(pricesText(prices, 10), "3 prices");
});
