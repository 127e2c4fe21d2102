/** The objects of bound APIs on both sides. */
import type { APIServiceBinding, APIServiceExport } from "@klutch/api";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { type ObjectsByResource, syncedVersion, type Tenant } from "@klutch/sync";
import { type Reader, readConsumer, readProvider } from "./reader.ts";
import type { OwnNamespaces } from "./tenants.ts";

/** Objects of both clusters by resource. What could not be read has no entry. */
export interface ObjectsOfBoth {
  readonly consumer: ObjectsByResource;
  readonly provider: ObjectsByResource;
}

/** A bound API as each side has it. */
export interface BoundTypes {
  readonly consumer: ResourceType;
  readonly provider: ResourceType;
}

/** Reads the objects of every export that a binding binds. */
export async function readBound(
  reader: Reader,
  bound: readonly APIServiceBinding[],
  exports: readonly APIServiceExport[],
  { own, tenant }: { readonly own: OwnNamespaces; readonly tenant: Tenant },
): Promise<ObjectsOfBoth> {
  const consumer: Record<string, readonly DynamicObject[]> = {};
  const provider: Record<string, readonly DynamicObject[]> = {};
  for (const one of exports) {
    const name = one.metadata.name ?? "";
    if (!bound.some(({ metadata }) => metadata.name === name)) continue;
    const types = typesOf(one);
    if (types === undefined) continue;
    consumer[name] = await readConsumer(reader, types.consumer);
    const isInClusterNamespace = types.provider.namespaced && !types.consumer.namespaced;
    const where = isInClusterNamespace ? [tenant.namespace] : own.provider;
    const objects = await readProvider(reader, types.provider, where);
    if (objects !== undefined) provider[name] = objects;
  }
  return { consumer, provider };
}

/** Returns both resource types; undefined if no version is served. A cluster-scoped API may be namespaced at the provider. */
export function typesOf({ spec }: Pick<APIServiceExport, "spec">): BoundTypes | undefined {
  const { group, names, scope, clusterScopedIsolation } = spec;
  const version = syncedVersion(spec)?.name;
  if (version === undefined) return undefined;
  const type = { group, version, plural: names.plural, kind: names.kind, namespaced: scope === "Namespaced" };
  return {
    consumer: type,
    provider: { ...type, namespaced: type.namespaced || clusterScopedIsolation === "Namespaced" },
  };
}
