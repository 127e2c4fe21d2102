/**
 * Plans the ResourceQuotas that hold one limit over several namespaces: each lets its namespace have its present number, and the rest of the
 * limit. Kubernetes counts; nothing here watches the limited kinds (designs/0024).
 */
import { crdNameOf, type GroupResource, type ObjectLimit, type ObjectMaximum } from "@klutch/api";
import { parseQuantity, sameQuantity } from "@klutch/kube-core";

/** A service namespace and its quota, as the cache has them. */
export interface LimitedNamespace {
  readonly name: string;
  /** It is being deleted: its objects count, and nothing is written into it. */
  readonly isGoing: boolean;
  /** Undefined without a quota. */
  readonly quota?: {
    readonly hard: Readonly<Record<string, unknown>>;
    /** By quota resource; without those that Kubernetes has not counted yet. */
    readonly used: Readonly<Record<string, number>>;
  };
}

/** A quota to write. */
export interface PlannedQuota {
  readonly namespace: string;
  readonly hard: Readonly<Record<string, string>>;
}

/** Quotas to write in order, and the state of the limits. */
export interface LimitPlan {
  /** Lowered quotas come first, so that room is taken away in one namespace before it is given in another. */
  readonly writes: readonly PlannedQuota[];
  /** Namespaces whose quota has no limit any more. */
  readonly removals: readonly string[];
  readonly totals: readonly (Required<GroupResource> & ObjectLimit)[];
  /** Namespaces in which Kubernetes has yet to count; until then it refuses new objects of the limited kinds. */
  readonly uncounted: readonly string[];
}

/** Returns the name of a kind's objects in a ResourceQuota. */
export function countOf(kind: GroupResource): string {
  return `count/${crdNameOf(kind)}`;
}

/** Returns the plan; equal input gives an equal plan, and a plan that was carried out gives an empty one. */
export function planLimits(
  limits: readonly ObjectMaximum[],
  namespaces: readonly LimitedNamespace[],
): LimitPlan {
  const totals = limits.map(({ group = "", resource, max }) => {
    const name = countOf({ group, resource });
    const used = namespaces.reduce((sum, { quota }) => sum + (quota?.used[name] ?? 0), 0);
    return { group, resource, max, used };
  });
  const open = namespaces.filter(({ isGoing }) => !isGoing);
  if (limits.length === 0) {
    const removals = open.filter(({ quota }) => quota !== undefined).map(({ name }) => name);
    return { writes: [], removals, totals, uncounted: [] };
  }
  const planned = open.map((namespace) => ({ namespace, hard: hardOf(namespace, totals) }));
  const writes = planned
    .filter(({ namespace, hard }) => !isSame(namespace.quota?.hard, hard))
    .toSorted((one, other) => Number(raises(one)) - Number(raises(other)))
    .map(({ namespace, hard }) => ({ namespace: namespace.name, hard }));
  const names = limits.map(countOf);
  const uncounted = open
    .filter(({ quota }) => names.some((name) => quota?.used[name] === undefined))
    .map(({ name }) => name);
  return { writes, removals: [], totals, uncounted };
}

function hardOf(namespace: LimitedNamespace, totals: LimitPlan["totals"]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    totals.map((total) => {
      const name = countOf(total);
      const left = Math.max(0, total.max - total.used);
      return [name, String((namespace.quota?.used[name] ?? 0) + left)];
    }),
  );
}

/** The API server writes 1000 as 1k, so amounts are compared. */
function isSame(
  present: Readonly<Record<string, unknown>> | undefined,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return (
    present !== undefined &&
    Object.keys(present).length === Object.keys(wanted).length &&
    Object.entries(wanted).every(([name, amount]) => sameQuantity(present[name], amount))
  );
}

function raises({ namespace, hard }: { namespace: LimitedNamespace; hard: PlannedQuota["hard"] }): boolean {
  const present = namespace.quota?.hard ?? {};
  return Object.entries(hard).some(
    ([name, amount]) => Number(amount) > (parseQuantity(present[name]) ?? Number.POSITIVE_INFINITY),
  );
}
