/** The kinds that the simulation syncs: one namespaced with claimed Secrets, one cluster-scoped. */
import { apiServiceExports, exportFromCrd, type PermissionClaim } from "@klutch/api";
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube-core";
import { conditionsSchema, crdObject, objectOfType } from "@klutch/kube-testing";

/** One API. */
export interface SimulatedApi {
  readonly type: ResourceType;
  readonly name: string;
  readonly crd: KubeObject;
  readonly claims: readonly PermissionClaim[];
}

const text = { type: "string" };
const spec = {
  type: "object",
  properties: {
    size: { type: "integer" },
    note: text,
    tags: { type: "array", items: text },
    // Not set in the app cluster; the provider fills it in.
    resourceRef: text,
    tier: { type: "string", default: "small" },
  },
};
const status = {
  type: "object",
  properties: {
    count: { type: "integer" },
    of: text,
    observedGeneration: { type: "integer" },
    conditions: conditionsSchema,
  },
};

function api(
  kind: string,
  plural: string,
  namespaced: boolean,
  claims: readonly PermissionClaim[],
): SimulatedApi {
  const type = { group: "sim.klutch.example", version: "v1", plural, kind, namespaced };
  const crd = crdObject(type, { properties: { spec, status }, hasStatus: true });
  return { name: `${plural}.${type.group}`, type, crd, claims };
}

/** Claims of databases, whose credentials come back as Secrets that the provider owns. */
export const databases: SimulatedApi = api("Database", "databases", true, [
  {
    group: "",
    resource: "secrets",
    version: "v1",
    selector: { owner: "Provider", names: ["*"], namespaces: ["*"] },
  },
]);
/** Cluster-scoped, under the tenant's prefix. */
export const zones: SimulatedApi = api("Zone", "zones", false, []);

export const simulatedApis: readonly SimulatedApi[] = [databases, zones];

/** The export of an API for one tenant. `informerScope` is for namespaced ones; the others have no choice. */
export function exportOf(
  { crd, name, type, claims }: SimulatedApi,
  namespace: string,
  informerScope: "Cluster" | "Namespaced",
): KubeObject {
  const spec = {
    ...exportFromCrd(crd).spec,
    informerScope: type.namespaced ? informerScope : "Cluster",
    ...(type.namespaced ? {} : { clusterScopedIsolation: "Prefixed" }),
    permissionClaims: claims,
  };
  return objectOfType(apiServiceExports, { namespace, name }, { spec });
}

/** An object of an API. */
export function objectOf(
  { type }: SimulatedApi,
  namespace: string,
  name: string,
  content: object,
): DynamicObject {
  return objectOfType(type, type.namespaced ? { namespace, name } : { name }, { spec: content });
}
