/** Makes objects of a claim's way as servers store them. */
import { syncerFinalizer } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { type Above, type Composed, type Observed, viewOf, type Warning } from "@klutch/overview";

/** `[type, status, reason, message, time, generation]`. */
export type Row = readonly [string, string, string, string?, string?, number?];

export const asked = "2026-11-28T09:00:00Z";
export const later = "2026-11-28T09:00:02Z";
export const api = "postgresqlinstances.anynines.com";
export const group = "anynines.com/v1";

export const conditions = (rows: readonly Row[]): object[] =>
  rows.map(([type, status, reason, message = "", lastTransitionTime = later, observedGeneration = 1]) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime,
    observedGeneration,
  }));

/** A claim of an app cluster that a konnector holds. */
export function claimOf(
  rows: readonly Row[],
  status: object = {},
  metadata: ObjectMeta = {},
  spec: object = {},
): DynamicObject {
  const { generation = 1 } = metadata;
  return {
    apiVersion: group,
    kind: "PostgresqlInstance",
    metadata: {
      name: "db",
      namespace: "shop",
      generation,
      creationTimestamp: asked,
      finalizers: [syncerFinalizer],
      managedFields: [
        { manager: "kubectl", operation: "Apply", time: asked, fieldsV1: {} },
        { manager: "klutch.anynines.com", operation: "Apply", time: later, fieldsV1: {} },
        { manager: "konnector", operation: "Update", subresource: "status", time: later, fieldsV1: {} },
      ],
      ...metadata,
    },
    spec: { service: "a9s-postgresql17", plan: "postgresql-single-small", ...spec },
    status: { observedGeneration: generation, conditions: conditions(rows), ...status },
  };
}

export const bindingView = (rows: readonly Row[]): Observed["binding"] => ({
  found: viewOf({
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { name: api, namespace: "klutch-bind", creationTimestamp: asked },
    status: { conditions: conditions(rows) },
  }),
});

export const wellBound: Observed["binding"] = bindingView([["Ready", "True", ""]]);

/** Returns the view of an administrator of the app cluster. */
export function seen(claim: DynamicObject, more: Partial<Observed> = {}): Observed {
  const spec = claim.spec as Readonly<Record<string, unknown>>;
  return {
    claim: viewOf(claim),
    from: "app cluster",
    api,
    plural: "postgresqlinstances",
    choosesComposition: spec["compositionRef"] !== undefined,
    binding: wellBound,
    agent: "works",
    warnings: [],
    secret: "unknown",
    usualMs: undefined,
    above: undefined,
    ...more,
  };
}

/** A status as function-klutch writes it. */
interface ManagedOnly {
  readonly managed: Readonly<Record<string, unknown>>;
}

export const creating: ManagedOnly = {
  managed: { state: "deploying", createdAt: later, updatedAt: later, conditions: [] },
};
export const provisioned: ManagedOnly = {
  managed: {
    state: "provisioned",
    createdAt: later,
    updatedAt: "2026-11-28T09:04:00Z",
    provisionedAt: "2026-11-28T09:04:00Z",
  },
};
export const good: readonly Row[] = [
  ["Ready", "True", "Available", "", "2026-11-28T09:04:01Z"],
  ["Synced", "True", "ReconcileSuccess"],
];
export const bad = (reason: string, message: string): readonly Row[] => [
  ["Ready", "False", reason, message],
  ["Synced", "False", reason, message],
];
export const notSent = (why: string): readonly Row[] => [
  ["Ready", "Unknown", "SpecNotSent", `the provider has not got this spec yet: ${why}`],
];

export const object = (
  apiVersion: string,
  kind: string,
  name: string,
  rows: readonly Row[],
  metadata: ObjectMeta = {},
): DynamicObject => ({
  apiVersion,
  kind,
  metadata: { name, generation: 1, creationTimestamp: later, ...metadata },
  status: { conditions: conditions(rows) },
});

export const upstream: DynamicObject = object(
  group,
  "PostgresqlInstance",
  "db",
  [
    ["Synced", "True", "ReconcileSuccess"],
    ["Ready", "False", "Waiting"],
  ],
  {
    namespace: "cluster-a-shop",
  },
);
export const compositeOf = (rows: readonly Row[], metadata: ObjectMeta = {}): Above["composite"] => ({
  found: viewOf(object(group, "XPostgresqlInstance", "db-x7k2p", rows, metadata)),
});
export const composedWell: readonly Row[] = [
  ["Synced", "True", "ReconcileSuccess"],
  ["Ready", "False", "Creating"],
];
export const managedOf = (
  rows: readonly Row[],
  more: Partial<Composed> = {},
  name = "db-x7k2p-abcde",
): Composed => ({
  ref: `ServiceInstance/${name}`,
  object: { found: viewOf(object("dataservices.anynines.com/v1", "ServiceInstance", name, rows)) },
  config: undefined,
  operation: undefined,
  ...more,
});
export const config = (rows: readonly Row[]): Composed["config"] => ({
  found: viewOf(object("dataservices.anynines.com/v1", "ProviderConfig", "postgresql-broker", rows)),
});
export const above = (composite: Above["composite"], resources: readonly Composed[] = []): Above => ({
  upstream: { found: viewOf(upstream) },
  holdsSpec: true,
  composite,
  isComposed: true,
  resources,
});
export const warning = (reason: string, message: string): readonly Warning[] => [{ reason, message }];

/** One case. */
export interface Case {
  readonly title: string;
  readonly observed: Observed;
}

/** Conditions of a claim whose Composition says nothing more. */
export const waiting: readonly Row[] = [
  ["Synced", "True", "ReconcileSuccess"],
  ["Ready", "False", "Waiting", "Claim is waiting for composite resource to become Ready"],
];

/** A kind of cert-manager: no composite, and no condition Synced. */
export function certificate(rows: readonly Row[]): Observed {
  const made = claimOf(rows, {}, { name: "shop", namespace: "default" });
  const claim = { ...made, apiVersion: "cert-manager.io/v1", kind: "Certificate" };
  return { ...seen(claim), api: "certificates.cert-manager.io", plural: "certificates" };
}
