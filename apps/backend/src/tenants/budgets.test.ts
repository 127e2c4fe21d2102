/** Budgets over a bill that only these tests hold, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tenant } from "@klutch/api";
import { VirtualClock } from "@klutch/kube-testing";
import type { BillLine } from "@klutch/services/prices";
import type { BudgetReport } from "../controller-context.ts";
import type { Month } from "../cost/month-bill.ts";
import { budgetNews, withinBudget } from "./budget-report.ts";
import { Budgets } from "./budgets.ts";

const month = "2026-11";
const budget = { currency: "EUR", perMonth: "100.00" };
const tenant = (more: Partial<Tenant> = {}, namespace = "mine"): Tenant => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "Tenant",
  metadata: { namespace, name: "tenant", uid: namespace },
  spec: { budget },
  ...more,
});

const billed = (amount: number, more: Partial<BillLine> = {}): BillLine => ({
  tenant: "mine",
  service: "pg",
  plan: "small",
  config: "broker",
  month,
  seconds: 1,
  ended: 0,
  currency: "EUR",
  micros: BigInt(Math.round(amount * 100)) * 10_000n,
  ...more,
});

interface Stage extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly told: string[];
  readonly budgets: Budgets;
  tenants: readonly Tenant[];
  lines: readonly BillLine[];
  isWhole: boolean;
  readonly wanted: () => number;
  readonly bills: () => number;
  /** A Tenant came or changed. */
  changed(one: Tenant): void;
}

function startStage(tenants: readonly Tenant[]): Stage {
  const clock = new VirtualClock();
  const told: string[] = [];
  const stop = new AbortController();
  const handlers = new Set<(change: { readonly object: Tenant }) => void>();
  let [wanted, bills] = [0, 0];
  const current = (): Month => {
    bills++;
    const { lines, isWhole } = stage;
    return {
      month,
      lines,
      projected: () => lines,
      damaged: [],
      doubtful: [],
      idle: [],
      fault: undefined,
      isWhole,
    };
  };
  const budgets = new Budgets({
    tenants: {
      list: () => stage.tenants,
      onChange: (handler: (change: never) => void) => {
        handlers.add(handler as (change: { readonly object: Tenant }) => void);
        return { [Symbol.dispose]: () => undefined };
      },
    } as unknown as ConstructorParameters<typeof Budgets>[0]["tenants"],
    cost: {
      bill: { current } as unknown as ConstructorParameters<typeof Budgets>[0]["cost"]["bill"],
      wantBill: () => void wanted++,
    },
    clock,
  });
  const stage: Stage = {
    clock,
    told,
    budgets,
    tenants,
    lines: [],
    isWhole: true,
    wanted: () => wanted,
    bills: () => bills,
    changed: (object) => handlers.forEach((handler) => handler({ object })),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test ended"));
      await running;
    },
  };
  budgets.onChange((namespace) => told.push(namespace));
  const running = budgets.start({ signal: stop.signal });
  return stage;
}

test("a change is told once, at most a minute late; amounts that move within a percent are none", async () => {
  await using stage = startStage([tenant()]);
  assert.deepEqual(stage.told, ["mine"]);
  const first = stage.budgets.reportOf("mine", budget);
  stage.lines = [billed(0.99)];
  await stage.clock.advance(60_000);
  assert.deepEqual(stage.told, ["mine"]);
  assert.equal(stage.budgets.reportOf("mine", budget), first, "the same words");
  stage.lines = [billed(1)];
  await stage.clock.advance(60_000);
  assert.deepEqual(stage.told, ["mine", "mine"]);
  assert.equal(stage.bills(), 3);
  stage.lines = [billed(500)];
  await stage.clock.advance(600_000);
  assert.deepEqual(stage.told, ["mine", "mine", "mine"]);
  // A budget that was changed is compared at once, with the bill as it is.
  const more = stage.budgets.reportOf("mine", { ...budget, perMonth: "1000" });
  assert.equal(more?.state.kind, "within");
});

test("usage is watched, and a bill calculated, only from the first budget on", async () => {
  await using stage = startStage([tenant({ spec: {} })]);
  await stage.clock.advance(3_600_000);
  assert.deepEqual([stage.wanted(), stage.bills()], [0, 0]);
  stage.tenants = [tenant()];
  stage.changed(tenant());
  assert.deepEqual([stage.wanted() > 0, stage.told], [true, ["mine"]]);
  // Another name counts for nothing.
  assert.equal(stage.budgets.reportOf("mine", budget)?.state.kind, "within");
});

test("before all is listed nothing is said, and after half a minute that it cannot be read", async () => {
  await using late = startStage([]);
  late.isWhole = false;
  late.tenants = [tenant()];
  late.changed(tenant());
  assert.equal(late.budgets.reportOf("mine", budget), undefined);
  await late.clock.advance(28_000);
  assert.equal(late.budgets.reportOf("mine", budget), undefined);
  await late.clock.advance(4_000);
  assert.equal(late.budgets.reportOf("mine", budget)?.state.kind, "unread");
  late.isWhole = true;
  await late.clock.advance(60_000);
  assert.equal(late.budgets.reportOf("mine", budget)?.state.kind, "within");
});

const report = (spent: number, more: Partial<BudgetReport["state"]> = {}): BudgetReport => ({
  month,
  fault: undefined,
  state: {
    kind: spent > 100 ? "over" : "within",
    currency: "EUR",
    budget: "100.00",
    spent: spent.toFixed(2),
    projected: "150.00",
    percent: spent,
    ...more,
  } as BudgetReport["state"],
});

test("Events tell of 80 % and of 100 % once in a month, and again after a larger budget was nearly spent", () => {
  let status: Tenant["status"] = {};
  const events: (string | undefined)[] = [];
  const look = (next: BudgetReport | undefined): void => {
    const news = budgetNews(tenant({ status }), next);
    events.push(news.event?.reason);
    status = { ...status, ...news.status } as Tenant["status"];
  };
  for (const spent of [0, 79, 80, 99, 100]) look(report(spent));
  assert.deepEqual(events.splice(0), [undefined, undefined, "BudgetNearlySpent", undefined, undefined]);
  look(undefined);
  look({ ...report(0), state: { kind: "noPrices", names: ["pg/x"] } });
  for (const spent of [101, 300]) look(report(spent));
  assert.deepEqual(events.splice(0), [undefined, undefined, "OverBudget", undefined]);
  for (const spent of [20, 85]) look(report(spent));
  assert.deepEqual(events.splice(0), [undefined, "BudgetNearlySpent"]);
  look({ ...report(85), month: "2026-12" });
  assert.deepEqual(events, ["BudgetNearlySpent"], "another month");
  assert.deepEqual(budgetNews(tenant({ spec: {}, status }), undefined).status, { budget: null });
  assert.deepEqual(budgetNews(tenant({ spec: {} }), undefined).status, {});
});

test("a budget that leaps over both shares is one Event", () => {
  const { event } = budgetNews(tenant(), report(120));
  assert.deepEqual(event, {
    reason: "OverBudget",
    message: "120.00 of 100.00 EUR (120 %) were spent in 2026-11; 150.00 EUR are projected for its end",
  });
});

test("the condition has the numbers, or says why there are none; names of strangers are one bounded line", () => {
  const text = (state: BudgetReport["state"], fault?: string): string => {
    const { status, reason = "", message = "" } = withinBudget({ month, state, fault });
    return `${status} ${reason} ${message}`;
  };
  assert.equal(text(report(50).state).trim(), "True");
  assert.equal(
    text(report(101).state),
    "False OverBudget 101.00 EUR were spent in 2026-11, and the budget is 100.00 EUR; 150.00 EUR are projected for the end of the month. Nothing is stopped because of it",
  );
  const names = Array.from({ length: 10_000 }, (_, index) => `<b>\u202e\n${"x".repeat(500)}${index}`);
  const open = text({ kind: "noPrices", names });
  assert.match(open, /^Unknown NoPrices .* have no price: <b>.* and 9995 more$/);
  assert.ok(open.length < 1_300 && !/[\p{Cc}\p{Cf}]/u.test(open));
  assert.match(
    text({ kind: "noPrices", names }, "The prices of x are not valid:\n  prices[0]"),
    /^Unknown NoPrices .*no price is valid: The prices of x are not valid: +prices\[0\]$/,
  );
  assert.match(
    text({ kind: "currencyMismatch", names: ["CHF", "USD"] }),
    /^Unknown CurrencyMismatch .* are in CHF, USD\. Different currencies are never added$/,
  );
  assert.match(text({ kind: "invalid", fault: "spec.budget.perMonth is 7" }), /^Unknown InvalidBudget spec/);
  assert.match(text({ kind: "unread" }), /^Unknown UsageUnread .*could not be listed/);
});
