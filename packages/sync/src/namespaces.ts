/** Maps the namespace of a consumer object to the provider's, and back. */
import {
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  parseNamespaceMapping,
  prefixedName,
} from "@klutch/api";
import type { DynamicObject, ObjectMeta, ObjectRef } from "@klutch/kube-core";

/** The provider's side of one consumer cluster. */
export interface Tenant {
  /** Cluster namespace on the provider. */
  readonly namespace: string;
  /** UID of that namespace; unique among all bindings of all control planes. */
  readonly namespaceUid: string;
}

/**
 * Where cluster-scoped objects of the app cluster stand on the provider: cluster-scoped under `<cluster namespace>-<name>`, in the
 * cluster namespace (the provider's kind is namespaced), or cluster-scoped under their own name, which is for providers with one tenant.
 */
export type Isolation = "Prefixed" | "Namespaced" | "None";

/** State of the namespace mapping that a namespaced object needs. */
export type Mapping =
  | { readonly state: "missing" }
  /** The APIServiceNamespace exists; the backend has not answered yet, or with something that does not count: then `why` says it. */
  | { readonly state: "pending"; readonly why?: string | undefined }
  | { readonly state: "ready"; readonly providerNamespace: string };

/** The mapping that an APIServiceNamespace stands for. */
export function mappingOf(serviceNamespace: DynamicObject | undefined): Mapping {
  if (serviceNamespace === undefined) return { state: "missing" };
  const { isDeleting, providerNamespace, problem } = parseNamespaceMapping(serviceNamespace);
  if (isDeleting) return { state: "missing" };
  if (providerNamespace !== undefined) return { state: "ready", providerNamespace };
  return problem === undefined ? { state: "pending" } : { state: "pending", why: problem };
}

/**
 * The consumer's name of an object with a prefixed name that stands for a cluster-scoped one; undefined when it belongs to another tenant
 * or to no one. Of bound kinds, which may have other names, see cluster-scoped.ts. A name alone proves nothing: tenant `a` with object `b-c` and tenant `a-b` with object `c` share one.
 */
export function consumerNameOf(
  tenant: Tenant,
  provider: { readonly metadata: ObjectMeta },
): string | undefined {
  const { name = "", annotations } = provider.metadata;
  if (annotations?.[clusterNamespaceAnnotation] !== tenant.namespace) return undefined;
  const original = annotations[consumerNameAnnotation];
  if (original !== undefined) {
    return prefixedName(tenant.namespace, original) === name ? original : undefined;
  }
  const prefix = `${tenant.namespace}-`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/** Decides whether a mapped namespace may be released: it must be gone in the live cluster, twice, `graceMs` apart. */
export function planMappingRelease(observed: {
  readonly cachedNamespaceExists: boolean;
  /** Monotonic time of the first live 404 of this absence; undefined before it. */
  readonly missingSince: number | undefined;
  readonly now: number;
  readonly graceMs: number;
}): "keep" | "checkLive" | { readonly waitMs: number } {
  if (observed.cachedNamespaceExists) return "keep";
  if (observed.missingSince === undefined) return "checkLive";
  const waitMs = observed.missingSince + observed.graceMs - observed.now;
  return waitMs > 0 ? { waitMs } : "checkLive";
}

/** Returns where a new upstream object of a consumer object is created; undefined while its namespace is not mapped. */
export function providerRefOf(
  tenant: Tenant,
  consumer: ObjectRef,
  mapping: Mapping,
  isolation: Isolation = "Prefixed",
): ObjectRef | undefined {
  const { namespace, name } = consumer;
  if (namespace !== undefined) {
    return mapping.state === "ready" ? { namespace: mapping.providerNamespace, name } : undefined;
  }
  switch (isolation) {
    case "Prefixed":
      return { name: prefixedName(tenant.namespace, name) };
    case "Namespaced":
      return { namespace: tenant.namespace, name };
    case "None":
      return { name };
    default:
      return isolation satisfies never;
  }
}
