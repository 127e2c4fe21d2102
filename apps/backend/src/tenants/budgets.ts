/**
 * Compares budgets of Tenants with this month's bill, in the process that holds the lease, at most once a minute. Usage is watched only while a
 * Tenant has a budget. A budget warns, and stops nothing (designs/0029).
 */
import { monthAt, type Tenant, type TenantBudget, tenantName } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { type Runnable, untilAborted } from "@klutch/kube-runtime";
import { budgetStateOf, budgetSums, type TenantSums } from "@klutch/services/prices";
import type { BudgetReport, Caches, KnownBudgets } from "../controller-context.ts";
import type { Cost } from "../cost/cost.ts";

/** Time between two comparisons, before all objects of the bill are listed, and until that is told. */
const [restMs, firstRestMs, patienceMs] = [60_000, 2_000, 30_000];

interface Sums {
  readonly month: string;
  readonly fault: string | undefined;
  readonly now: ReadonlyMap<string, TenantSums>;
  readonly projected: ReadonlyMap<string, TenantSums>;
}

/** Runs for each term of the lease. */
export class Budgets implements Runnable, KnownBudgets {
  readonly name = "budgets";
  readonly #tenants: Pick<Caches["tenants"], "list" | "onChange">;
  readonly #cost: Pick<Cost, "bill" | "wantBill">;
  readonly #clock: Pick<Clock, "now" | "monotonic" | "schedule">;
  readonly #handlers = new Set<(namespace: string) => void>();
  readonly #told = new Map<string, { readonly key: string; readonly report: BudgetReport }>();
  #sums: Sums | "unread" | undefined;
  #wantedAt: number | undefined;

  constructor(parts: {
    readonly tenants: Pick<Caches["tenants"], "list" | "onChange">;
    readonly cost: Pick<Cost, "bill" | "wantBill">;
    readonly clock: Pick<Clock, "now" | "monotonic" | "schedule">;
  }) {
    this.#tenants = parts.tenants;
    this.#cost = parts.cost;
    this.#clock = parts.clock;
  }

  onChange(handler: (namespace: string) => void): void {
    this.#handlers.add(handler);
  }

  reportOf(namespace: string, budget: TenantBudget): BudgetReport | undefined {
    const sums = this.#sums;
    if (sums === undefined) return undefined;
    const report = this.#report(sums, namespace, budget);
    const key = JSON.stringify([report.month, budget, wordsOf(report)]);
    const known = this.#told.get(namespace);
    if (known?.key === key) return known.report;
    this.#told.set(namespace, { key, report });
    return report;
  }

  #report(sums: Sums | "unread", namespace: string, budget: TenantBudget): BudgetReport {
    if (sums === "unread") {
      const month = monthAt(this.#clock.now());
      return { month, state: { kind: "unread" }, fault: undefined };
    }
    const { month, fault, now, projected } = sums;
    return {
      month,
      state: budgetStateOf(budget, now.get(namespace), projected.get(namespace)),
      fault,
    };
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    let cancel = (): void => undefined;
    const tick = (): void => {
      cancel();
      cancel = this.#clock.schedule(this.#look(), tick);
    };
    using _tenants = this.#tenants.onChange(({ object }) => {
      if (this.#wantedAt === undefined && hasBudget(object)) tick();
    });
    tick();
    await untilAborted(signal);
    cancel();
  }

  /** Returns the time until the next look. */
  #look(): number {
    const own = [...this.#tenants.list()].filter(hasBudget);
    const places = new Set(own.map(({ metadata }) => metadata.namespace ?? ""));
    for (const namespace of this.#told.keys()) if (!places.has(namespace)) this.#told.delete(namespace);
    if (own.length === 0) return restMs;
    const now = this.#clock.monotonic();
    this.#wantedAt ??= now;
    this.#cost.wantBill();
    const { month, lines, projected, fault, isWhole } = this.#cost.bill.current();
    if (isWhole)
      this.#sums = { month, fault, now: budgetSums(lines, month), projected: budgetSums(projected(), month) };
    else if (now - this.#wantedAt >= patienceMs) this.#sums = "unread";
    for (const { metadata, spec } of own) {
      const { namespace = "" } = metadata;
      const before = this.#told.get(namespace);
      const report = spec.budget && this.reportOf(namespace, spec.budget);
      if (report !== before?.report) for (const handler of this.#handlers) handler(namespace);
    }
    return isWhole || this.#sums === "unread" ? restMs : firstRestMs;
  }
}

function hasBudget({ metadata, spec }: Tenant): boolean {
  return metadata.name === tenantName && spec.budget !== undefined;
}

/** Returns the part of a report whose change is told: amounts move all the time, so only their whole percent counts. */
function wordsOf({ state, fault }: BudgetReport): readonly unknown[] {
  return "percent" in state ? [state.kind, state.percent] : [state, fault];
}
