/** Makes the Tenant of each app cluster, says in its status who uses it, and keeps its limits. */
import {
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  type ClusterBindingStatus,
  crdNameOf,
  loginWayAnnotation,
  type Tenant,
  tenantName,
  tenants,
  type TenantStatus,
} from "@klutch/api";
import { apiVersionOf, type KubeObject, keyOfRef, plainText, refOf, wholeSeconds } from "@klutch/kube-core";
import { ApiError, isAlreadyExists, isForbidden, isNotFound } from "@klutch/kube";
import type { EventRecorder, Reconcile, ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { byNamespace, type ControllerContext, isOperators } from "../controller-context.ts";
import { type BudgetNews, budgetNews } from "./budget-report.ts";
import { conditionsOfTenant, conditionsWithoutCluster } from "./conditions.ts";
import type { LimitPlan } from "./limit-plan.ts";
import { limitsOf, planOf, removeQuota, writeQuota } from "./limits.ts";
import { firstSpecOf, peopleOf } from "./people.ts";

/** Time for which a new ClusterBinding may lack the names that a login writes after it. */
const namesMs = 5_000;
const retryMs = 60_000;
const contactLimit = 256;

/** Keys are `namespace/name` of Tenants. */
export function createTenantReconcile(context: ControllerContext, events: EventRecorder): Reconcile {
  const { caches } = context;
  const tell = createBudgetTeller(events);
  return async (key, run) => {
    const { namespace = "", name } = refOf(key);
    const place = caches.namespaces.get(namespace);
    if (place?.metadata.deletionTimestamp !== undefined) return undefined;
    const tenant = caches.tenants.get(key);
    if (tenant?.metadata.deletionTimestamp !== undefined) return undefined;
    const binding = caches.bindings.get(keyOfRef({ namespace, name: clusterBindingName }));
    if (name !== tenantName || binding === undefined) {
      if (tenant !== undefined) await sayUnattached(context, tenant, binding !== undefined, run);
      return undefined;
    }
    // A cache may show the ClusterBinding before its namespace, which wakes this again.
    if (place === undefined) return undefined;
    return tenant === undefined
      ? createTenant(context, place, binding, run)
      : keepTenant(context, tell, place, binding, tenant, run);
  };
}

/** Creates it once. An operator who deletes it gets a new one without limits. */
async function createTenant(
  { client, clock }: ControllerContext,
  place: KubeObject,
  binding: ClusterBinding,
  { signal, logger }: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  const namespace = place.metadata.name ?? "";
  const isNamed = binding.metadata.annotations?.[loginWayAnnotation] !== undefined || isOperators(place);
  const ageMs = clock.now() - Date.parse(binding.metadata.creationTimestamp ?? "");
  if (!isNamed && ageMs >= 0 && ageMs < namesMs) return { requeueAfterMs: namesMs - ageMs };
  const tenant: Tenant = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Tenant",
    metadata: { namespace, name: tenantName },
    spec: firstSpecOf(place, binding),
  };
  try {
    await client.create<Tenant>(tenants, tenant, { signal });
    return undefined;
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    if (!isForbidden(error) && !isNotFound(error)) throw error;
    // Of an upgrade that is not complete. The tenant works without.
    logger.warn(
      "the Tenant of an app cluster could not be made; apply the kinds, roles and policies of this release",
      { namespace, error },
    );
    return { requeueAfterMs: retryMs };
  }
}

async function keepTenant(
  context: ControllerContext,
  tell: ReturnType<typeof createBudgetTeller>,
  place: KubeObject,
  binding: ClusterBinding,
  tenant: Tenant,
  { signal, logger }: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  const { caches, client, clock, consumerScope } = context;
  const namespace = place.metadata.name ?? "";
  const { held, others } = limitsOf(context, tenant);
  const plan = planOf(context, namespace, held);
  const refusal = await carryOut(context, plan, signal);
  if (refusal !== undefined)
    logger.warn("the limits of a tenant could not be enforced", { namespace, error: refusal });
  const mappings = caches.mappings.byIndex(byNamespace, namespace);
  const { budget } = tenant.spec;
  const report = budget && context.budgets?.reportOf(namespace, budget);
  const news = budgetNews(tenant, report);
  const conditions = conditionsOfTenant(
    tenant.status?.conditions,
    {
      limits: tenant.spec.limits ?? {},
      plan,
      others,
      bound: caches.exports
        .byIndex(byNamespace, namespace)
        .map(({ spec }) => crdNameOf({ group: spec.group, resource: spec.names.plural }))
        .toSorted(),
      serviceNamespaces: mappings.filter(({ status }) => status?.namespace !== undefined).length,
      isWide: consumerScope === "Cluster",
      refusal: refusal?.message,
      budget: budget && (report ?? "unknown"),
    },
    clock.now(),
  );
  const status: TenantStatus = {
    phase: refusal === undefined ? "Ready" : "Error",
    ...peopleOf(place, caches.grants.byIndex(byNamespace, namespace)),
    clusters: 1,
    used: plan.totals.map(({ group, resource, used }) => ({ group, resource, used })),
    conditions,
  };
  const wanted = { ...status, ...credentialEndOf(context, tenant), ...news.status };
  await ensureStatus(client, tenants, tenant, wanted, { signal });
  await tell(tenant, news);
  await ensureStatus(client, clusterBindings, binding, { ...reportOf(binding, tenant, plan) }, { signal });
  return refusal === undefined ? undefined : { requeueAfterMs: retryMs };
}

/**
 * Creates what records Events of budgets: after the status that says so was written, so that a restart repeats none. The cache may still show the
 * status before it, so the last share of each Tenant is remembered.
 */
function createBudgetTeller(events: EventRecorder): (tenant: Tenant, news: BudgetNews) => Promise<void> {
  const told = new Map<string, string>();
  return async ({ metadata: { namespace, name, uid = "" } }, { status: { budget }, event }) => {
    if (budget === undefined || budget === null) return void told.delete(uid);
    const share = `${budget.month} ${budget.warnedPercent}`;
    const isTold = told.get(uid) === share;
    told.set(uid, share);
    if (event === undefined || isTold) return;
    const about = {
      apiVersion: apiVersionOf(tenants),
      kind: tenants.kind,
      metadata: { namespace, name, uid },
    };
    await events.record(about, "Warning", event.reason, event.message);
  };
}

/** Returns the end of the app cluster's credential, null to remove it. Until this process has checked it, the one that the Tenant shows stays. */
function credentialEndOf(
  { credentialEnds }: ControllerContext,
  { metadata: { namespace = "" }, status }: Tenant,
): { readonly credentialEndsAt?: string | null } {
  const end = credentialEnds.endOf(namespace);
  if (end === "unknown") return {};
  if (end !== undefined) return { credentialEndsAt: wholeSeconds(end) };
  return status?.credentialEndsAt === undefined ? {} : { credentialEndsAt: null };
}

/** Writes and removes quotas. Gives back the API server's refusal of one, after all others were tried. */
async function carryOut(
  context: ControllerContext,
  { writes, removals }: LimitPlan,
  signal: AbortSignal,
): Promise<ApiError | undefined> {
  let refusal: ApiError | undefined;
  const attempt = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      // A namespace that is being deleted takes no quota, and needs none.
      if (isNotFound(error) || isGoing(error)) return;
      if (!(error instanceof ApiError) || !isRefusal(error)) throw error;
      refusal ??= error;
    }
  };
  for (const quota of writes) await attempt(writeQuota(context, quota, signal));
  for (const namespace of removals) await attempt(removeQuota(context, namespace, signal));
  return refusal;
}

function isRefusal({ status }: ApiError): boolean {
  return status === 403 || status === 422 || status === 400;
}

function isGoing(error: unknown): boolean {
  return isForbidden(error) && error.message.includes("being terminated");
}

/** The part of a ClusterBinding's status that is about limits; the app cluster's account may have written another. Null removes a field. */
function reportOf(
  { status = {} }: ClusterBinding,
  tenant: Tenant,
  { totals }: LimitPlan,
): { readonly [K in "limits" | "contact"]?: ClusterBindingStatus[K] | null } {
  const owner = plainText(tenant.spec.owner ?? "", contactLimit);
  return {
    ...(totals.length > 0 ? { limits: totals } : status.limits === undefined ? {} : { limits: null }),
    ...(owner !== "" ? { contact: owner } : status.contact === undefined ? {} : { contact: null }),
  };
}

/** Says so once, unless another program reports on the Tenant already: the operator of anynines has Tenants of its own. */
async function sayUnattached(
  { client, clock }: ControllerContext,
  tenant: Tenant,
  isBound: boolean,
  { signal }: ReconcileContext,
): Promise<void> {
  const { phase, memberCount } = tenant.status ?? {};
  const wasAttached = memberCount !== undefined;
  if (phase !== undefined && !wasAttached) return;
  const conditions = conditionsWithoutCluster(tenant.metadata.name ?? "", isBound, clock.now());
  const gone = wasAttached ? { members: null, memberCount: null, used: null } : {};
  await ensureStatus(
    client,
    tenants,
    tenant,
    { phase: "Pending", clusters: 0, conditions, ...gone },
    { signal },
  );
}
