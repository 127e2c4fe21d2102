/** Puts a budget report into the condition and the status of a Tenant, and finds out what an Event has to tell. No I/O. */
import { plainText, type Tenant, type TenantStatus } from "@klutch/api";
import { falseCondition, type NewCondition, trueCondition } from "@klutch/kube-core";
import { nearPercent } from "@klutch/services/prices";
import type { BudgetReport } from "../controller-context.ts";

const withinBudgetType = "WithinBudget";
/** Names in one message. */
const mostNames = 5;

/** Returns the condition. */
export function withinBudget({ month, state, fault }: BudgetReport): NewCondition {
  switch (state.kind) {
    case "within":
      return trueCondition(withinBudgetType);
    case "over":
      return falseCondition(
        withinBudgetType,
        "OverBudget",
        "Warning",
        `${state.spent} ${state.currency} were spent in ${month}, and the budget is ${state.budget} ${state.currency}; ` +
          `${state.projected} ${state.currency} are projected for the end of the month. Nothing is stopped because of it`,
      );
    case "noPrices": {
      const why =
        fault === undefined
          ? `plans that were used in ${month} have no price: ${shown(state.names)}`
          : `no price is valid: ${plainText(fault, 400)}`;
      return { ...open, reason: "NoPrices", message: `${notCompared}, because ${why}` };
    }
    case "noSizes": {
      const why = `backups that were kept in ${month} have a price, and their backup manager tells no size: those of ${shown(state.names)}`;
      return { ...open, reason: "SizesUnknown", message: `${notCompared}, because ${why}` };
    }
    case "currencyMismatch": {
      const why = `the prices of plans that were used in ${month} are in ${shown(state.names)}`;
      const message = `${notCompared}: ${why}. Different currencies are never added`;
      return { ...open, reason: "CurrencyMismatch", message };
    }
    case "invalid":
      return { ...open, reason: "InvalidBudget", message: plainText(state.fault, 400) };
    case "unread": {
      const kinds = "ServiceInstances, Backups, UsageLedgers, Compositions or the ConfigMap klutch-prices";
      const message = `${notCompared}, because ${kinds} could not be listed; the backend's log says why`;
      return { ...open, reason: "UsageUnread", message };
    }
  }
}

const open = { type: withinBudgetType, status: "Unknown" } as const;
const notCompared = "The budget cannot be compared";

function shown(names: readonly string[]): string {
  const clean = names.slice(0, mostNames).map((name) => plainText(name, 200));
  return `${clean.join(", ")}${names.length > mostNames ? ` and ${names.length - mostNames} more` : ""}`;
}

/** An Event that a report leads to. */
export interface BudgetEvent {
  readonly reason: "BudgetNearlySpent" | "OverBudget";
  readonly message: string;
}

/** The status of a budget, null to remove it, and the Event that goes with it. Empty: the status stays as it is. */
export interface BudgetNews {
  readonly status: { readonly budget?: TenantStatus["budget"] | null };
  readonly event: BudgetEvent | undefined;
}

/** Returns the news. An Event tells of 80 % and of 100 % once in a month, and again only after the share has been lower, as with a larger budget. */
export function budgetNews({ spec, status = {} }: Tenant, report: BudgetReport | undefined): BudgetNews {
  if (spec.budget === undefined)
    return { status: status.budget === undefined ? {} : { budget: null }, event: undefined };
  if (report === undefined || !("percent" in report.state)) return { status: {}, event: undefined };
  const { month, state } = report;
  const { currency, spent, budget, projected, percent } = state;
  const warnedPercent = state.kind === "over" ? 100 : percent >= nearPercent ? nearPercent : 0;
  const before = status.budget?.month === month ? status.budget.warnedPercent : 0;
  const message = `${spent} of ${budget} ${currency} (${percent} %) were spent in ${month}; ${projected} ${currency} are projected for its end`;
  const reason = state.kind === "over" ? "OverBudget" : "BudgetNearlySpent";
  return {
    status: { budget: { month, currency, spent, projected, usedPercent: percent, warnedPercent } },
    event: warnedPercent > before ? { reason, message } : undefined,
  };
}
