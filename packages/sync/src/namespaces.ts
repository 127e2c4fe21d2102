/** Where a consumer object stands on the provider, and back. */
import { clusterNamespaceAnnotation, prefixedName } from "@klutch/api";
import type { Ref, SyncObject } from "./types.ts";

/** The provider's side of one consumer cluster. */
export interface Tenant {
  /** Cluster namespace on the provider. */
  readonly namespace: string;
  /** UID of that namespace; unique among all bindings of all control planes. */
  readonly namespaceUid: string;
}

/** State of the namespace mapping that a namespaced object needs (reference/bind.md §1.5). */
export type Mapping =
  | { readonly state: "missing" }
  /** The APIServiceNamespace exists; the backend has not answered yet. */
  | { readonly state: "pending" }
  | { readonly state: "ready"; readonly providerNamespace: string };

/** The mapping that an APIServiceNamespace stands for. */
export function mappingOf(serviceNamespace: SyncObject | undefined): Mapping {
  if (serviceNamespace === undefined || serviceNamespace.metadata.deletionTimestamp !== undefined) {
    return { state: "missing" };
  }
  const status = serviceNamespace.status;
  const name =
    typeof status === "object" && status !== null && "namespace" in status ? status.namespace : undefined;
  return typeof name === "string" && name !== ""
    ? { state: "ready", providerNamespace: name }
    : { state: "pending" };
}

/** The consumer's name of a cluster-scoped provider object; undefined when the object belongs to another tenant or to nobody. */
export function consumerNameOf(tenant: Tenant, provider: SyncObject): string | undefined {
  const prefix = `${tenant.namespace}-`;
  const { name = "", annotations } = provider.metadata;
  // The prefix alone proves nothing: tenant `a` with object `b-c` and tenant `a-b` with object `c` share a name.
  if (annotations?.[clusterNamespaceAnnotation] !== tenant.namespace || !name.startsWith(prefix)) {
    return undefined;
  }
  return name.slice(prefix.length);
}

/** Whether a namespace that Klutch mapped may be released: it must be gone in the live cluster, twice, `graceMs` apart. */
export function planMappingRelease(observed: {
  readonly cachedNamespaceExists: boolean;
  /** Monotonic time of the first live 404 of this absence; undefined before it. */
  readonly missingSince: number | undefined;
  readonly now: number;
  readonly graceMs: number;
}): "keep" | "lookLive" | { readonly waitMs: number } {
  if (observed.cachedNamespaceExists) return "keep";
  if (observed.missingSince === undefined) return "lookLive";
  const waitMs = observed.missingSince + observed.graceMs - observed.now;
  return waitMs > 0 ? { waitMs } : "lookLive";
}

/** Reference of the consumer object on the provider; undefined while its namespace is not mapped. */
export function providerRefOf(tenant: Tenant, consumer: Ref, mapping: Mapping): Ref | undefined {
  if (consumer.namespace === undefined) {
    return { name: prefixedName(tenant.namespace, consumer.name) };
  }
  return mapping.state === "ready"
    ? { namespace: mapping.providerNamespace, name: consumer.name }
    : undefined;
}
