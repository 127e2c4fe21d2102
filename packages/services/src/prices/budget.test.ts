import assert from "node:assert/strict";
import { test } from "node:test";
import type { BillLine } from "./bill.ts";
import { budgetStateOf, budgetSums } from "./budget.ts";

const month = "2026-11";
const line = (amount: number, more: Partial<BillLine> = {}): BillLine => ({
  tenant: "a",
  service: "pg",
  plan: "small",
  config: "broker",
  month,
  seconds: 1,
  ended: 0,
  currency: "EUR",
  micros: BigInt(amount) * 1_000_000n,
  ...more,
});
const unpriced = line(0, { plan: "free", currency: undefined });
const sums = (...lines: readonly BillLine[]) => budgetSums(lines, month).get("a");
const euros = (perMonth: string) => ({ currency: "EUR", perMonth });

test("the sum of a month is compared to the last millionth, and told with the projection", () => {
  const own = sums(
    line(60),
    line(20, { plan: "big" }),
    line(900, { tenant: "b" }),
    line(900, { month: "2026-10" }),
  );
  const amounts = { currency: "EUR", spent: "80.00", projected: "120.00" };
  assert.deepEqual(budgetStateOf(euros("100"), own, sums(line(120))), {
    kind: "within",
    ...amounts,
    budget: "100.00",
    percent: 80,
  });
  assert.equal(budgetStateOf(euros("80"), own).kind, "within", "all of it is not more than it");
  const over = budgetStateOf(euros("79.999999"), own, sums(line(120)));
  assert.deepEqual(over, { kind: "over", ...amounts, budget: "79.999999", percent: 100 });
});

test("a tenant that used nothing is within its budget", () => {
  const state = budgetStateOf(euros("0.000001"));
  assert.deepEqual([state.kind, "percent" in state && state.percent], ["within", 0]);
});

test("a plan without a price, or in another currency, leaves the answer open, unless the budget is spent without it", () => {
  assert.deepEqual(budgetStateOf(euros("100"), sums(line(60), unpriced)), {
    kind: "noPrices",
    names: ["pg/free"],
  });
  assert.equal(budgetStateOf(euros("50"), sums(line(60), unpriced)).kind, "over");
  const mixed = sums(line(60), line(1, { currency: "USD" }), line(1, { currency: "CHF" }));
  assert.deepEqual(budgetStateOf(euros("100"), mixed), { kind: "currencyMismatch", names: ["CHF", "USD"] });
  assert.equal(budgetStateOf(euros("50"), mixed).kind, "over", "60 EUR were spent whatever the dollars are");
  assert.equal(budgetStateOf({ currency: "JPY", perMonth: "1" }, sums(line(60))).kind, "currencyMismatch");
  // A plan that costs nothing says nothing of its currency.
  assert.equal(budgetStateOf(euros("100"), sums(line(60), line(0, { currency: "USD" }))).kind, "within");
});

test("backups count, and those of an unknown size that have a price leave the answer open", () => {
  const kept = { made: 1, seconds: 10, unsizedSeconds: 5, byteSeconds: 7n };
  const open = line(60, { backups: { ...kept, micros: 1n } });
  assert.deepEqual(budgetStateOf(euros("100"), sums(open)), { kind: "noSizes", names: ["pg/small"] });
  assert.equal(budgetStateOf(euros("50"), sums(open)).kind, "over");
  const free = line(60, { backups: { ...kept, micros: undefined } });
  assert.equal(budgetStateOf(euros("100"), sums(free)).kind, "within");
  const sized = line(60, { backups: { ...kept, unsizedSeconds: 0, micros: 1n } });
  assert.equal(budgetStateOf(euros("100"), sums(sized)).kind, "within");
});

for (const [lie, budget, fault] of [
  ["zero", euros("0"), /^spec\.budget\.perMonth is "0", expected a decimal in quotes that is more than 0/],
  ["zero with digits", euros("0.000000"), /perMonth is "0\.000000"/],
  ["a negative amount", euros("-1"), /perMonth is "-1"/],
  ["an exponent", euros("1e999"), /perMonth is "1e999"/],
  ["a number", { currency: "EUR", perMonth: 7 }, /perMonth is 7/],
  ["no amount", { currency: "EUR" }, /perMonth is absent/],
  [
    "a currency in small letters",
    { currency: "eur", perMonth: "1" },
    /^spec\.budget\.currency is "eur", expected/,
  ],
  ["markup", { currency: "<b>".repeat(1_000), perMonth: "1" }, /^.{0,150}$/],
  ["null", null, /currency is absent/],
  ["a text", "100 EUR", /currency is absent/],
] as const) {
  test(`a budget with ${lie}, where the API server let it pass, is told with its field and compared with nothing`, () => {
    const state = budgetStateOf(budget as never, sums(line(60)));
    assert.equal(state.kind, "invalid");
    assert.match("fault" in state ? state.fault : "", fault);
  });
}

test("10,000 services are named a few, and a huge sum is a bounded percentage", () => {
  const many = Array.from({ length: 10_000 }, (_, index) =>
    line(0, { service: `s${index}`, currency: undefined }),
  );
  const state = budgetStateOf(euros("1"), sums(...many));
  assert.equal("names" in state && state.names.length, 10_000);
  const huge = budgetStateOf(euros("0.000001"), sums(line(Number.MAX_SAFE_INTEGER)));
  assert.deepEqual([huge.kind, "percent" in huge && huge.percent], ["over", 1_000_000]);
});
