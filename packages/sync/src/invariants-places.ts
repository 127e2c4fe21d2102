/** Locates the objects of a tenant on the provider, as a snapshot shows them. */
import {
  type APIServiceExport,
  clusterNamespaceAnnotation,
  readServiceNamespaceOwner,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import { type DynamicObject, type ObjectRef, refOfObject } from "@klutch/kube-core";
import { claimNameOf, clusterScopedPlace, type ClusterScopedView } from "./cluster-scoped.ts";
import { providerDigest } from "./digest.ts";
import type { BoundApi, InvariantSnapshot } from "./invariants-snapshot.ts";
import { type Isolation, type Mapping, mappingOf, providerRefOf, type Tenant } from "./namespaces.ts";
import { plainView } from "./status-view.ts";

/** The namespace mappings, both ways. */
export interface Places {
  readonly tenant: Tenant;
  /** Objects of a consumer namespace. */
  mapping(consumerNamespace: string | undefined): Mapping;
  /** Consumer namespaces by provider namespace: by mapping, and by the annotations of the provider's namespaces. */
  readonly consumerOf: ReadonlyMap<string, string>;
  /** Cluster namespaces by service namespace, of all tenants. Annotations win over our mappings: they are the proof. */
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
    const marked = readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation]);
    if (marked === undefined) continue;
    const { clusterNamespace: owner, consumerNamespace } = marked;
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

/** Returns true if the provider's object is where this tenant's objects are; objects of a bound API may be elsewhere than others. */
export function isOurs(
  { consumerOf, tenant }: Places,
  { metadata }: DynamicObject,
  api?: Pick<BoundApi, "namespaced" | "isolation">,
): boolean {
  if (api?.namespaced === false && api.isolation === "Namespaced") {
    return metadata.namespace === tenant.namespace;
  }
  return metadata.namespace === undefined
    ? metadata.annotations?.[clusterNamespaceAnnotation] === tenant.namespace
    : consumerOf.has(metadata.namespace);
}

/** The isolation that is in force: a cluster-scoped kind cannot be put into a namespace, so its names are prefixed. */
export function isolationOf(
  { spec }: APIServiceExport,
  upstreams: readonly DynamicObject[] | undefined,
): Isolation {
  const { clusterScopedIsolation: wanted = "Prefixed" } = spec;
  const isInside = upstreams?.every(({ metadata }) => metadata.namespace !== undefined) ?? true;
  return wanted === "Namespaced" && !isInside ? "Prefixed" : wanted;
}

/** The claim and the upstream object of one API that belong together. */
export interface PlacesInApi {
  readonly placeOf: (claim: DynamicObject) => ObjectRef | undefined;
  readonly consumerRefOf: (upstream: DynamicObject) => ObjectRef | undefined;
}

/** See `PlacesInApi`. `upstreams` are those that are ours. */
export function placesIn(
  places: Places,
  api: Pick<BoundApi, "namespaced" | "isolation"> | undefined,
  claims: readonly DynamicObject[],
  upstreams: readonly DynamicObject[],
): PlacesInApi {
  const { tenant } = places;
  const isolation = api?.isolation ?? "Prefixed";
  const claimNames = new Set(claims.map(({ metadata }) => metadata.name));
  const byName = new Map(
    upstreams
      .filter(({ metadata }) => metadata.namespace === undefined)
      .map((object) => [object.metadata.name, providerDigest(object, plainView)]),
  );
  const view: ClusterScopedView = {
    hasClaim: (name) => claimNames.has(name),
    upstream: (name) => byName.get(name),
  };
  return {
    placeOf(claim) {
      const ref = refOfObject(claim);
      return ref.namespace !== undefined || isolation === "Namespaced"
        ? providerRefOf(tenant, ref, places.mapping(ref.namespace), isolation)
        : { name: clusterScopedPlace(tenant, ref.name, isolation, view).name };
    },
    consumerRefOf({ metadata }) {
      const { namespace, name = "" } = metadata;
      if (namespace === undefined) {
        const found = claimNameOf(tenant, byName.get(name) ?? { metadata }, isolation, view);
        return found === undefined ? undefined : { name: found };
      }
      if (api?.namespaced !== true) return namespace === tenant.namespace ? { name } : undefined;
      const consumerNamespace = places.consumerOf.get(namespace);
      return consumerNamespace === undefined ? undefined : { namespace: consumerNamespace, name };
    },
  };
}
