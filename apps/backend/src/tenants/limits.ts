/** Limits of a tenant, as its Tenant has them, and the quotas that hold them. */
import {
  clusterBindingName,
  crdNameOf,
  type ObjectMaximum,
  readServiceNamespaceOwner,
  serviceNamespaceAnnotation,
  type Tenant,
  tenantLimitsName,
  tenantName,
} from "@klutch/api";
import {
  type KubeObject,
  keyOfRef,
  parseQuantity,
  recordAt,
  resourceQuotas,
  textAt,
} from "@klutch/kube-core";
import { backendFieldManager } from "../apply.ts";
import { byTenant, type ControllerContext } from "../controller-context.ts";
import { type LimitedNamespace, type LimitPlan, planLimits, type PlannedQuota } from "./limit-plan.ts";

type Context = Pick<ControllerContext, "caches" | "client" | "limits">;

/** Returns the Tenant that counts in a cluster namespace; undefined in others. */
export function tenantIn({ caches }: Pick<Context, "caches">, namespace: string): Tenant | undefined {
  const isBound = caches.bindings.get(keyOfRef({ namespace, name: clusterBindingName })) !== undefined;
  return isBound ? caches.tenants.get(keyOfRef({ namespace, name: tenantName })) : undefined;
}

/** Returns how many namespaces of the app cluster are served, and what says so. */
export function namespaceLimit(
  context: Pick<Context, "caches" | "limits">,
  namespace: string,
): { readonly most: number; readonly setBy: string } {
  const all = context.limits.namespacesPerCluster;
  const own = tenantIn(context, namespace)?.spec.limits?.serviceNamespaces ?? all;
  return own < all
    ? { most: own, setBy: `spec.limits.serviceNamespaces of Tenant ${namespace}/${tenantName}` }
    : { most: all, setBy: "--max-namespaces-per-cluster" };
}

/** A limited kind that no quota can count, and why. */
export interface Unlimitable {
  readonly kind: string;
  readonly reason: "UnknownKind" | "ClusterScopedKind";
}

/** Kinds of Kubernetes that app clusters may be given. */
const coreKinds = ["secrets", "configmaps", "services", "persistentvolumeclaims"];

/** Splits the limits into those that quotas can hold, and others. */
export function limitsOf(
  { caches }: Pick<Context, "caches">,
  tenant: Tenant | undefined,
): { readonly held: readonly ObjectMaximum[]; readonly others: readonly Unlimitable[] } {
  const held: ObjectMaximum[] = [];
  const others: Unlimitable[] = [];
  for (const limit of tenant?.spec.limits?.objects ?? []) {
    const kind = crdNameOf(limit);
    const crd = caches.crds.get(kind);
    const isCore = (limit.group ?? "") === "" && coreKinds.includes(limit.resource);
    if (crd === undefined && !isCore) others.push({ kind, reason: "UnknownKind" });
    else if (textAt(crd, "spec", "scope") === "Cluster") others.push({ kind, reason: "ClusterScopedKind" });
    else held.push(limit);
  }
  return { held, others };
}

/** Returns the quotas that the limits need now. `more` is a service namespace that the cache may not show yet. */
export function planOf(
  { caches }: Pick<Context, "caches">,
  clusterNamespace: string,
  limits: readonly ObjectMaximum[],
  more?: string,
): LimitPlan {
  const known = caches.namespaces.byIndex(byTenant, clusterNamespace);
  const isKnown = known.some(({ metadata }) => metadata.name === more);
  const namespaces = known.map((namespace): LimitedNamespace => {
    const { name = "", deletionTimestamp } = namespace.metadata;
    const quota = caches.limitQuotas.get(keyOfRef({ namespace: name, name: tenantLimitsName }));
    const isGoing = deletionTimestamp !== undefined;
    return { name, isGoing, ...(quota === undefined ? {} : { quota: amountsOf(quota) }) };
  });
  const added = more === undefined || isKnown ? [] : [{ name: more, isGoing: false }];
  return planLimits(limits, [...namespaces, ...added]);
}

function amountsOf(quota: KubeObject): NonNullable<LimitedNamespace["quota"]> {
  const used = Object.entries(recordAt(quota, "status", "used")).flatMap(([name, text]) => {
    const amount = parseQuantity(text);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return { hard: recordAt(quota, "spec", "hard"), used: Object.fromEntries(used) };
}

/**
 * Writes the quota of one service namespace before its tenant gets rights there, so that no object is created uncounted. Throws if the quota
 * cannot be written: the namespace is not handed out then.
 */
export async function limitNamespace(
  context: Context,
  clusterNamespace: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const { held } = limitsOf(context, tenantIn(context, clusterNamespace));
  if (held.length === 0) return;
  const { writes } = planOf(context, clusterNamespace, held, name);
  for (const quota of writes) if (quota.namespace === name) await writeQuota(context, quota, signal);
}

/** Writes one quota. */
export async function writeQuota(
  { client }: Pick<Context, "client">,
  { namespace, hard }: PlannedQuota,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { namespace, name: tenantLimitsName };
  const quota: KubeObject & { readonly spec: object } = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata,
    spec: { hard },
  };
  await client.apply(resourceQuotas, quota, { signal, fieldManager: backendFieldManager, force: true });
}

/** Ends the limits of one service namespace. */
export async function removeQuota(
  { client }: Pick<Context, "client">,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  await client.delete(resourceQuotas, { namespace, name: tenantLimitsName }, { signal });
}

/** Values of the index `byTenant`: the cluster namespace of a service namespace. */
export function clusterNamespaceOf({ metadata }: KubeObject): readonly string[] {
  const owner = readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation]);
  return owner === undefined ? [] : [owner.clusterNamespace];
}
