/** Compares the bill of a tenant with its budget. No I/O. A budget warns; it stops nothing. */
import type { TenantBudget } from "@klutch/api";
import type { BillLine } from "./bill.ts";
import { exactMoney, microsOf, shownMoney } from "./money.ts";

/** This month's sums of one tenant. */
export interface TenantSums {
  /** Millionths by currency. */
  readonly spent: ReadonlyMap<string, bigint>;
  /** Plans that were used and have no price, as `<service>/<plan>`. */
  readonly withoutPrice: readonly string[];
  /** Plans with a price for backups and with backups of an unknown size, as `<service>/<plan>`. */
  readonly withoutSize: readonly string[];
}

const nothing: TenantSums = { spent: new Map(), withoutPrice: [], withoutSize: [] };

/** Sums up the lines of a month by tenant. */
export function budgetSums(lines: readonly BillLine[], month: string): ReadonlyMap<string, TenantSums> {
  const byTenant = Map.groupBy(
    lines.filter((line) => line.month === month),
    ({ tenant }) => tenant,
  );
  return new Map([...byTenant].map(([tenant, own]) => [tenant, sumsOf(own)]));
}

function sumsOf(lines: readonly BillLine[]): TenantSums {
  const spent = new Map<string, bigint>();
  const [withoutPrice, withoutSize] = [new Set<string>(), new Set<string>()];
  for (const { service, plan, currency, micros, backups } of lines) {
    const name = `${service}/${plan}`;
    if (currency === undefined) withoutPrice.add(name);
    else spent.set(currency, (spent.get(currency) ?? 0n) + micros);
    if (backups?.micros !== undefined && backups.unsizedSeconds > 0) withoutSize.add(name);
  }
  return { spent, withoutPrice: [...withoutPrice], withoutSize: [...withoutSize] };
}

/** Amounts beside a budget, as decimal texts with two digits in its currency. */
export interface BudgetAmounts {
  readonly currency: string;
  readonly spent: string;
  readonly budget: string;
  /** The sum at the end of the month, if the databases that exist now go on. */
  readonly projected: string;
  /** Share of the budget that is spent, in whole percent, rounded down; at most 1,000,000. */
  readonly percent: number;
}

/** A budget beside the bill. */
export type BudgetState =
  | ({ readonly kind: "within" | "over" } & BudgetAmounts)
  /** No sum can be told; `names` are plans, or currencies. */
  | { readonly kind: "noPrices" | "noSizes" | "currencyMismatch"; readonly names: readonly string[] }
  /** The Tenant's field is not what its schema asks for, as where the kind is of an earlier release. */
  | { readonly kind: "invalid"; readonly fault: string };

/** Share of a budget, in percent, from which it is nearly spent. */
export const nearPercent = 80;

/** Largest number of a percentage that is shown. */
const mostPercent = 1_000_000n;

/**
 * Returns the state of a budget. `now` and `projected` are the sums of this moment and of the end of the month. The sum in the budget's
 * currency decides as soon as it is more than the budget; before that, a plan without a price or with another currency, or backups of an unknown size that
 * have a price, leave the answer open.
 */
export function budgetStateOf(
  budget: TenantBudget,
  now: TenantSums = nothing,
  projected: TenantSums = now,
): BudgetState {
  const fault = budgetFault(budget);
  if (fault !== undefined) return { kind: "invalid", fault };
  const { currency } = budget;
  const most = microsOf(budget.perMonth) ?? 0n;
  const spent = now.spent.get(currency) ?? 0n;
  const isOver = spent > most;
  const others = [...now.spent]
    .filter(([other, sum]) => other !== currency && sum > 0n)
    .map(([other]) => other);
  if (!isOver && others.length > 0) return { kind: "currencyMismatch", names: others.toSorted() };
  if (!isOver && now.withoutPrice.length > 0) return { kind: "noPrices", names: now.withoutPrice };
  if (!isOver && now.withoutSize.length > 0) return { kind: "noSizes", names: now.withoutSize };
  const percent = (spent * 100n) / most;
  return {
    kind: isOver ? "over" : "within",
    currency,
    spent: shownMoney(spent),
    budget: exactMoney(most),
    projected: shownMoney(projected.spent.get(currency) ?? 0n),
    percent: Number(percent > mostPercent ? mostPercent : percent),
  };
}

/** Names the field, the value and the expected one. */
function budgetFault(value: unknown): string | undefined {
  const { currency, perMonth }: { currency?: unknown; perMonth?: unknown } =
    typeof value === "object" && value !== null ? value : {};
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency))
    return `spec.budget.currency is ${said(currency)}, expected a code of ISO 4217, such as EUR`;
  const most = typeof perMonth === "string" ? microsOf(perMonth) : undefined;
  return most === undefined || most <= 0n
    ? `spec.budget.perMonth is ${said(perMonth)}, expected a decimal in quotes that is more than 0, such as "250.00"`
    : undefined;
}

function said(value: unknown): string {
  return (JSON.stringify(value) ?? "absent").slice(0, 60);
}
