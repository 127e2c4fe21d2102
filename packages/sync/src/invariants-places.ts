/** Which namespaces of the provider are a tenant's, as a snapshot shows it. */
import { clusterNamespaceAnnotation, serviceNamespaceAnnotation } from "@klutch/api";
import type { BoundApi, InvariantSnapshot } from "./invariants.ts";
import { type Mapping, mappingOf, type Tenant } from "./namespaces.ts";
import type { SyncObject } from "./types.ts";

/** The namespace mappings, both ways. */
export interface Places {
  readonly tenant: Tenant;
  /** Of a consumer namespace. */
  mapping(consumerNamespace: string | undefined): Mapping;
  /** Consumer namespaces by provider namespace: by mapping, and by the annotations of the provider's namespaces. */
  readonly consumerOf: ReadonlyMap<string, string>;
  /** Cluster namespaces by service namespace, of all tenants. Annotations win over our mappings: they are the proof (S9). */
  readonly tenantOf: ReadonlyMap<string, string>;
}

/** See `Places`. */
export function placesOf({ provider }: InvariantSnapshot): Places {
  const { tenant } = provider;
  const mappings = new Map(
    provider.apiServiceNamespaces.map((object) => [object.metadata.name ?? "", mappingOf(object)]),
  );
  const consumerOf = new Map<string, string>();
  const tenantOf = new Map<string, string>();
  for (const [consumerNamespace, mapping] of mappings) {
    if (mapping.state !== "ready") continue;
    consumerOf.set(mapping.providerNamespace, consumerNamespace);
    tenantOf.set(mapping.providerNamespace, tenant.namespace);
  }
  for (const { metadata } of provider.namespaces ?? []) {
    const [owner, consumerNamespace] = (metadata.annotations?.[serviceNamespaceAnnotation] ?? "").split("/");
    if (owner === undefined || owner === "" || consumerNamespace === undefined) continue;
    const name = metadata.name ?? "";
    tenantOf.set(name, owner);
    if (owner !== tenant.namespace) consumerOf.delete(name);
    else if (!consumerOf.has(name)) consumerOf.set(name, consumerNamespace);
  }
  return {
    tenant,
    consumerOf,
    tenantOf,
    mapping: (namespace) =>
      namespace === undefined ? { state: "missing" } : (mappings.get(namespace) ?? { state: "missing" }),
  };
}

/** Whether the provider's object stands where this tenant's objects stand; those of a bound API may stand elsewhere than others. */
export function isOurs(
  { consumerOf, tenant }: Places,
  { metadata }: SyncObject,
  api?: Pick<BoundApi, "namespaced" | "isolation">,
): boolean {
  if (api?.namespaced === false && api.isolation === "Namespaced") {
    return metadata.namespace === tenant.namespace;
  }
  return metadata.namespace === undefined
    ? metadata.annotations?.[clusterNamespaceAnnotation] === tenant.namespace
    : consumerOf.has(metadata.namespace);
}
