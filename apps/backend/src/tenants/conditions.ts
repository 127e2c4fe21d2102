/** Conditions of a Tenant. */
import { crdNameOf, tenantLimitsName, tenantName, type TenantLimits } from "@klutch/api";
import {
  type Condition,
  falseCondition,
  type NewCondition,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import { budgetCondition } from "@klutch/overview";
import { withinBudget } from "./budget-report.ts";
import type { BudgetReport } from "../controller-context.ts";
import type { LimitPlan } from "./limit-plan.ts";
import type { Unlimitable } from "./limits.ts";

/** Facts about a tenant's limits. */
export interface LimitFacts {
  readonly limits: TenantLimits;
  readonly plan: LimitPlan;
  readonly others: readonly Unlimitable[];
  /** APIs that the app cluster has bound, as `<resource>.<group>`. */
  readonly bound: readonly string[];
  /** Number of namespaces that are served. */
  readonly serviceNamespaces: number;
  /** The app cluster's account has rights in all namespaces, where no quota is. */
  readonly isWide: boolean;
  /** Refusal of a quota by the API server. */
  readonly refusal: string | undefined;
  /** Absent without a budget; `unknown` before the first bill of this process, which leaves the condition as it is. */
  readonly budget?: BudgetReport | "unknown" | undefined;
}

const appCluster = "AppCluster";
const enforced = "LimitsEnforced";
/** Names in one message. */
const mostNames = 5;

/** Conditions of a Tenant whose limits hold, or do not. */
export function conditionsOfTenant(
  present: readonly Condition[] | undefined,
  facts: LimitFacts,
  now: number,
): readonly Condition[] {
  const isLimited = (facts.limits.objects ?? []).length > 0;
  const { budget } = facts;
  const hasLimits = isLimited || facts.limits.serviceNamespaces !== undefined;
  const found = [
    trueCondition(appCluster),
    ...(isLimited ? [limitsEnforced(facts)] : []),
    ...(hasLimits ? [withinLimits(facts)] : []),
    ...(budget === undefined || budget === "unknown" ? [] : [withinBudget(budget)]),
  ];
  const kept = budget === "unknown" ? [budgetCondition] : [];
  const types = new Set(["Ready", ...kept, ...found.map(({ type }) => type)]);
  return setConditions(
    present?.filter(({ type }) => types.has(type)),
    found,
    now,
  );
}

/** Conditions of a Tenant to which no app cluster belongs. */
export function conditionsWithoutCluster(name: string, isBound: boolean, now: number): readonly Condition[] {
  const message = isBound
    ? `The app cluster of this namespace belongs to the Tenant ${tenantName}; ${name} has no effect`
    : "No app cluster belongs to this Tenant yet: its namespace is not the cluster namespace of one. Its limits have no effect. " +
      `The Tenant of an app cluster is called ${tenantName}, in the cluster namespace that a login makes`;
  return setConditions([], [falseCondition(appCluster, "NoAppCluster", "Info", message)], now);
}

function limitsEnforced({ plan, others, bound, isWide, refusal }: LimitFacts): NewCondition {
  if (refusal !== undefined) {
    return falseCondition(
      enforced,
      "QuotaRefused",
      "Error",
      `The ResourceQuota ${tenantLimitsName} could not be written, so the limits do not hold: ${refusal}`,
    );
  }
  const [other] = others;
  if (other !== undefined) {
    const names = shown(others.map(({ kind }) => kind));
    const said =
      other.reason === "UnknownKind"
        ? `no kind of this control plane is called so. Bound here: ${bound.length === 0 ? "nothing" : shown(bound)}`
        : "its objects are in no namespace, and only those in namespaces can be limited";
    return falseCondition(
      enforced,
      other.reason,
      "Warning",
      `spec.limits.objects names ${names}: ${said}. Other limits hold`,
    );
  }
  if (isWide) {
    return falseCondition(
      enforced,
      "ConsumerScopeCluster",
      "Warning",
      "The backend runs with --consumer-scope=Cluster, so the app cluster may create objects in namespaces without a quota",
    );
  }
  if (plan.uncounted.length > 0) {
    return falseCondition(
      enforced,
      "Counting",
      "Info",
      `Kubernetes has not counted yet in ${shown(plan.uncounted)}, and refuses new objects of limited kinds there until it has`,
    );
  }
  return trueCondition(enforced);
}

function withinLimits({ limits, plan, serviceNamespaces }: LimitFacts): NewCondition {
  const most = limits.serviceNamespaces;
  const over = [
    ...plan.totals
      .filter(({ max, used }) => used > max)
      .map((total) => `${crdNameOf(total)}: ${total.used}, and ${total.max} are allowed`),
    ...(most !== undefined && serviceNamespaces > most
      ? [`namespaces: ${serviceNamespaces}, and ${most} are allowed`]
      : []),
  ];
  if (over.length === 0) return trueCondition("WithinLimits");
  const message = `${over.join("; ")}. Nothing is deleted because of it, and nothing is added until there is room`;
  return falseCondition("WithinLimits", "OverLimit", "Warning", message);
}

function shown(names: readonly string[]): string {
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
  return `${names.slice(0, mostNames).join(", ")}${more}`;
}
