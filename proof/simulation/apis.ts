/** The kinds that the simulation syncs: one namespaced with claimed Secrets, one cluster-scoped. */
import { exportFromCrd, type PermissionClaim } from "@klutch/api";
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube-core";
import { conditionsSchema } from "@klutch/kube-testing";

/** One API. */
export interface SimulatedApi {
  readonly type: ResourceType;
  readonly name: string;
  readonly crd: KubeObject;
  readonly claims: readonly PermissionClaim[];
}

const group = "sim.klutch.example";
const text = { type: "string" };
const spec = {
  type: "object",
  properties: {
    size: { type: "integer" },
    note: text,
    tags: { type: "array", items: text },
    // Nobody in the app cluster sets it; the provider fills it in.
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
  const name = `${plural}.${group}`;
  const crd: KubeObject = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } },
        },
      ],
    },
  };
  return { name, crd, claims, type: { group, version: "v1", plural, kind, namespaced } };
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

/** All of them. */
export const simulatedApis: readonly SimulatedApi[] = [databases, zones];

/** The export of an API for one tenant. `informerScope` is for namespaced ones; the others have no choice. */
export function exportOf(
  { crd, name, type, claims }: SimulatedApi,
  namespace: string,
  informerScope: "Cluster" | "Namespaced",
): KubeObject {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace, name },
    spec: {
      ...exportFromCrd(crd).spec,
      informerScope: type.namespaced ? informerScope : "Cluster",
      ...(type.namespaced ? {} : { clusterScopedIsolation: "Prefixed" }),
      permissionClaims: claims,
    },
  };
}

/** An object of an API. */
export function objectOf(
  { type }: SimulatedApi,
  namespace: string,
  name: string,
  content: object,
): DynamicObject {
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: type.namespaced ? { namespace, name } : { name },
    spec: content,
  };
}
