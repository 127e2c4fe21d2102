/** Shows the state of app clusters, their limits, credentials and claims as metrics, read from caches at each scrape. */
import { clusterBindingName, crdNameOf, objectStateOf, type Tenant } from "@klutch/api";
import { findCondition, keyOf, keyOfRef } from "@klutch/kube-core";
import { type Runnable, untilAborted } from "@klutch/kube-runtime";
import { budgetCondition } from "@klutch/overview";
import type { GaugeDeclaration, Metrics, Sample } from "@klutch/telemetry";
import type { ClaimState } from "../causes/claim-causes.ts";
import type { ControllerContext } from "../controller-context.ts";
import * as declarations from "../metrics.ts";
import { clusterNamespaceOf, tenantIn } from "../tenants/limits.ts";
import type { CredentialEnds } from "./credential-ends.ts";

/** Sources of the metrics. */
export interface TenantStateSources {
  readonly caches: ControllerContext["caches"];
  readonly ends: Pick<CredentialEnds, "current">;
  /** Claims of bound kinds. */
  readonly claims: () => Iterable<ClaimState>;
  /** Tenants that are shown each by itself. Default 50. */
  readonly mostTenants?: number | undefined;
}

type OfTenants =
  | typeof declarations.tenantObjects
  | typeof declarations.tenantCredentialEnd
  | typeof declarations.controlPlaneClaims;

/** Shows them while this process holds the lease. The label `tenant` is the cluster namespace. */
export function createTenantStates(metrics: Metrics, sources: TenantStateSources): Runnable {
  const { mostTenants = 50 } = sources;
  const bounded = <D extends OfTenants>(declaration: D): D => ({
    ...declaration,
    topValues: { ...declaration.topValues, tenant: mostTenants },
  });
  return {
    name: "tenant-states",
    async start({ signal }) {
      using stack = new DisposableStack();
      const show = <L extends string>(declaration: GaugeDeclaration<L>, read: () => Iterable<Sample<L>>) =>
        stack.use(metrics.read(declaration, read));
      show(declarations.appClusters, () => clustersOf(sources));
      show(bounded(declarations.tenantObjects), () => usesOf(sources, ({ used }) => used));
      show(bounded(declarations.tenantObjectLimit), () => usesOf(sources, ({ max }) => max));
      show(declarations.limitsReached, () => reachedOf(sources));
      show(bounded(declarations.tenantBudgetUsed), () => budgetsOf(sources));
      show(bounded(declarations.tenantCredentialEnd), () => endsOf(sources));
      show(bounded(declarations.controlPlaneClaims), () => claimsOf(sources));
      await untilAborted(signal);
    },
  };
}

function* clustersOf({ caches }: TenantStateSources): Iterable<Sample<"state" | "reason">> {
  for (const { metadata, status } of caches.bindings.list()) {
    const healthy = findCondition(status?.conditions, "Healthy");
    const isWell = healthy?.status === "True";
    const state = metadata.deletionTimestamp === undefined ? (isWell ? "ready" : "not_ready") : "deleting";
    yield { labels: { state, reason: isWell ? "" : (healthy?.reason ?? "") }, value: 1 };
  }
}

/** A limited kind of one tenant. */
interface Use {
  readonly tenant: string;
  readonly resource: string;
  readonly used: number;
  readonly max: number;
}

/** Gives the limited kinds of tenants that count; those that the backend has not counted yet are left out. */
function* limitedKinds({ caches }: TenantStateSources): Iterable<Use> {
  for (const tenant of caches.tenants.list()) {
    const { namespace = "" } = tenant.metadata;
    if (!counts(caches, tenant)) continue;
    const used = new Map(tenant.status?.used?.map((use) => [crdNameOf(use), use.used]));
    for (const limit of tenant.spec.limits?.objects ?? []) {
      const number = used.get(crdNameOf(limit));
      if (number !== undefined)
        yield { tenant: namespace, resource: crdNameOf(limit), used: number, max: limit.max };
    }
  }
}

function counts(caches: TenantStateSources["caches"], tenant: Tenant): boolean {
  return keyOf(tenantIn({ caches }, tenant.metadata.namespace ?? "") ?? { metadata: {} }) === keyOf(tenant);
}

function* usesOf(
  sources: TenantStateSources,
  valueOf: (use: Use) => number,
): Iterable<Sample<"tenant" | "resource">> {
  for (const use of limitedKinds(sources))
    yield { labels: { tenant: use.tenant, resource: use.resource }, value: valueOf(use) };
}

/** A limit of 0 forbids a kind, so that it is reached is no news. */
function* reachedOf(sources: TenantStateSources): Iterable<Sample<"resource">> {
  for (const { resource, used, max } of limitedKinds(sources))
    yield { labels: { resource }, value: max > 0 && used >= max ? 1 : 0 };
}

function* budgetsOf({ caches }: TenantStateSources): Iterable<Sample<"tenant">> {
  for (const tenant of caches.tenants.list()) {
    const { budget, conditions } = tenant.status ?? {};
    const known = findCondition(conditions, budgetCondition)?.status;
    if (budget === undefined || (known !== "True" && known !== "False") || !counts(caches, tenant)) continue;
    yield { labels: { tenant: tenant.metadata.namespace ?? "" }, value: budget.usedPercent / 100 };
  }
}

function* endsOf({ caches, ends }: TenantStateSources): Iterable<Sample<"tenant">> {
  const isBound = (namespace: string): boolean =>
    caches.bindings.get(keyOfRef({ namespace, name: clusterBindingName })) !== undefined;
  for (const [tenant, end] of ends.current(isBound)) yield { labels: { tenant }, value: end / 1000 };
}

function* claimsOf({
  caches,
  claims,
}: TenantStateSources): Iterable<Sample<"tenant" | "resource" | "plan" | "state" | "reason">> {
  for (const { namespace, resource, plan, ...claim } of claims()) {
    const place = caches.namespaces.get(namespace);
    const [tenant] = place === undefined ? [] : clusterNamespaceOf(place);
    if (tenant !== undefined) yield { labels: { tenant, resource, plan, ...objectStateOf(claim) }, value: 1 };
  }
}
