/** Tests of budgets at the cluster of `tenants.real.test.ts`, where the tenant `shop-cluster` used 5.00 EUR in this month. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterBinding, clusterBindings, type Tenant, tenants } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, events, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import type { Metrics } from "@klutch/telemetry";

/** The cluster, with a tenant whose quota is used up. */
export interface BudgetStage {
  readonly client: KubeClient;
  readonly metrics: Pick<Metrics, "text">;
  /** Text of a condition of the Tenant. */
  readonly said: (type: string) => Promise<string>;
  /** Makes one more database, which the quota refuses. */
  readonly make: () => Promise<unknown>;
  readonly exceeds: (error: unknown) => boolean;
}

/** Adds the tests. */
export function budgetTests({ client, metrics, said, make, exceeds }: BudgetStage): void {
  const shop = "shop-cluster";
  const own = { namespace: shop, name: "tenant" };
  const readTenant = (): Promise<Tenant> => client.get<Tenant>(tenants, own);
  const budgetOf = (perMonth: unknown, currency: unknown = "EUR"): Promise<unknown> =>
    client.mergePatch(tenants, own, { spec: { budget: { currency, perMonth } } });

  void test("a budget that is no amount of money is refused with its field", async () => {
    for (const [perMonth, currency, fault] of [
      ["0", "EUR", /spec\.budget\.perMonth.*perMonth must be more than 0, such as "250\.00"/],
      ["0.00", "EUR", /perMonth must be more than 0/],
      ["-5", "EUR", /spec\.budget\.perMonth/],
      ["1e999", "EUR", /spec\.budget\.perMonth/],
      [7, "EUR", /spec\.budget\.perMonth/],
      ["7", "eur", /spec\.budget\.currency/],
      ["7", "EUR+USD", /spec\.budget\.currency/],
    ] as const)
      await assert.rejects(budgetOf(perMonth, currency), fault);
  });

  void test("a budget is compared with the bill: Events at 80 % and 100 % once each, numbers in the condition, nothing is stopped", async () => {
    const eventsOf = async (): Promise<readonly string[]> => {
      const { items } = await client.list<DynamicObject>(events, { namespace: shop });
      const reasons = items.map((event) => textAt(event, "reason") ?? "");
      return reasons.filter((reason) => /Budget/.test(reason)).toSorted();
    };
    await budgetOf("100.00");
    await waitFor("the bill", async () => (await readTenant()).status?.budget?.spent === "5.00", {
      timeoutMs: 90_000,
    });
    assert.equal((await said("WithinBudget")).trim(), "True");
    assert.deepEqual(await eventsOf(), []);
    await budgetOf("6.00");
    await waitFor("the first Event", async () => (await eventsOf()).length === 1);
    assert.equal((await said("WithinBudget")).trim(), "True");
    await budgetOf("4.00");
    await waitFor("the condition", async () => (await said("WithinBudget")).startsWith("False OverBudget"));
    assert.match(
      await said("WithinBudget"),
      /^False OverBudget 5\.00 EUR were spent in 20\d\d-\d\d, and the budget is 4\.00 EUR; 5\.00 EUR are projected/,
    );
    await waitFor("the second Event", async () => (await eventsOf()).length === 2);
    assert.match(await metrics.text(), /^klutch_tenant_budget_used_ratio\{tenant="shop-cluster"\} 1\.25$/m);
    // Another reason to reconcile is no reason for another Event.
    for (const owner of ["a@example.org", "team-shop@example.org"]) {
      await client.mergePatch(tenants, own, { spec: { owner } });
      await waitFor("the contact", async () => {
        const binding = await client.get<ClusterBinding>(clusterBindings, {
          namespace: shop,
          name: "cluster",
        });
        return binding.status?.contact === owner;
      });
    }
    assert.deepEqual(await eventsOf(), ["BudgetNearlySpent", "OverBudget"]);
    // It warns only: the quota alone decides about objects.
    await assert.rejects(make(), exceeds);
    await budgetOf("4.00", "USD");
    await waitFor("the currencies", async () =>
      (await said("WithinBudget")).startsWith("Unknown CurrencyMismatch"),
    );
    await client.mergePatch(tenants, own, { spec: { budget: null } });
    await waitFor("the end of the budget", async () => {
      const { budget, conditions = [] } = (await readTenant()).status ?? {};
      return budget === undefined && !conditions.some(({ type }) => type === "WithinBudget");
    });
  });
}
