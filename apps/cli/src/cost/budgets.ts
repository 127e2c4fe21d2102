/** Marks tenants whose budget of this month is nearly spent, or spent. No I/O. */
import { plainText, type Tenant, tenantName } from "@klutch/api";
import { type BillLine, budgetStateOf, budgetSums, nearPercent } from "@klutch/services";

/** A tenant with a budget beside this month's lines; the names of its fields are those of `-o json`. */
export interface BudgetMark {
  readonly tenant: string;
  readonly month: string;
  readonly state: "within" | "near" | "over" | "unknown";
  readonly spent?: string | undefined;
  readonly budget?: string | undefined;
  readonly currency?: string | undefined;
  readonly percent?: number | undefined;
  /** Reason of `unknown`, for people. */
  readonly why?: string | undefined;
}

const openWords = {
  noPrices: "plans without a price",
  noSizes: "backups of unknown size of",
  currencyMismatch: "prices in",
} as const;

/** Most names in one sentence. */
const mostNames = 3;

/** Returns the tenants with a budget, as the backend compares them (designs/0029), but from the caller's own bill. `month` is this one, `YYYY-MM`. */
export function budgetMarks(
  tenants: readonly Tenant[],
  lines: readonly BillLine[],
  month: string,
): readonly BudgetMark[] {
  const sums = budgetSums(lines, month);
  return tenants
    .filter(({ metadata }) => metadata.name === tenantName)
    .flatMap(({ metadata: { namespace: tenant = "" }, spec }): readonly BudgetMark[] => {
      if (spec?.budget === undefined) return [];
      const state = budgetStateOf(spec.budget, sums.get(tenant));
      if (state.kind === "invalid")
        return [{ tenant, month, state: "unknown", why: plainText(state.fault, 200) }];
      if ("names" in state) {
        const names = state.names.slice(0, mostNames).map((name) => plainText(name, 100));
        return [{ tenant, month, state: "unknown", why: `${openWords[state.kind]} ${names.join(", ")}` }];
      }
      const { kind, spent, budget, currency, percent } = state;
      const word = kind === "over" ? "over" : percent >= nearPercent ? "near" : "within";
      return [{ tenant, month, state: word, spent, budget, currency, percent }];
    })
    .toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1));
}

/** Returns a line for each budget that asks for a look; those with room have none. */
export function budgetLines(marks: readonly BudgetMark[]): readonly string[] {
  return marks.flatMap(({ tenant, month, state, spent, budget, currency, percent, why }) => {
    if (state === "within") return [];
    if (state === "unknown") return [`Budget of ${tenant}: cannot be compared (${why}).`];
    const words = state === "over" ? "over budget" : "nearly spent";
    return [`Budget of ${tenant}: ${words}, ${spent} of ${budget} ${currency} (${percent} %) in ${month}.`];
  });
}
