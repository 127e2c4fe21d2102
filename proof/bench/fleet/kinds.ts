/** The APIs of the fleet: kinds that a status is written to, each with the permission claim that Klutch's own have, the provider's Secrets. */
import type { PermissionClaim } from "@klutch/api";
import {
  type DynamicObject,
  type KubeObject,
  recordAt,
  recordsAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import { anyObject, crdObject, objectOfType } from "@klutch/kube-testing";

/** One API. */
export interface FleetKind {
  readonly type: ResourceType;
  /** Also the name of its export and binding. */
  readonly crdName: string;
  readonly crd: KubeObject;
}

const group = "fleet.klutch.example";

/** Returns the kind number `index`, with a further field when one is named. */
export function fleetKind(index: number, field?: string): FleetKind {
  const type: ResourceType = {
    group,
    version: "v1",
    plural: `things${index}`,
    kind: `Thing${index}`,
    namespaced: true,
  };
  const more = field === undefined ? {} : { [field]: { type: "string" } };
  const properties = { spec: anyObject, status: anyObject, ...more };
  return { type, crdName: `${type.plural}.${group}`, crd: crdObject(type, { properties, hasStatus: true }) };
}

/** Returns the first `count` kinds. */
export function fleetKinds(count: number): readonly FleetKind[] {
  return Array.from({ length: count }, (_, index) => fleetKind(index));
}

/** The kind whose claims are timed. */
export const timedKind: FleetKind = fleetKind(0);

/** The claim of each kind. */
export const providerSecrets: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { owner: "Provider", names: ["*"], namespaces: ["*"] },
};

/** Begins the names of claims whose status the benchmark writes at once. */
export const probePrefix = "probe-";

/** Names the claim that each namespace has. */
export const firstClaim = "first";

/** Returns a claim of a kind. */
export function claimOf({ type }: FleetKind, namespace: string, name: string): DynamicObject {
  return objectOfType(type, { namespace, name }, { spec: { size: 1 } });
}

/** Names the fields at the top of the only version of a CustomResourceDefinition. */
export function fieldsOf(crd: DynamicObject): readonly string[] {
  const [version] = recordsAt(crd["spec"], "versions");
  return Object.keys(recordAt(version, "schema", "openAPIV3Schema", "properties"));
}

/** Tells whether the status that a probe gets is there. */
export function hasStatus(object: DynamicObject): boolean {
  return textAt(recordAt(object, "status"), "message") === "done";
}
