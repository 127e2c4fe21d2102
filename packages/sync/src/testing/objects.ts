/** Objects for the tests of this package. */
import { boundAnnotation, syncerFinalizer } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import type { Tenant } from "../namespaces.ts";
import { plainView, type StatusView } from "../status-view.ts";

export const tenant: Tenant = { namespace: "cluster-a", namespaceUid: "tenant-uid" };

/** The inputs of a plan where statuses are copied as they are. */
export const copied: { readonly view: StatusView; readonly now: number } = { view: plainView, now: 0 };

/** A widget of the consumer with our marks, unless `metadata` says otherwise. */
export function consumerWidget(spec: unknown, metadata: ObjectMeta = {}): DynamicObject {
  return {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: {
      name: "w",
      namespace: "app",
      uid: "consumer-uid",
      resourceVersion: "10",
      finalizers: [syncerFinalizer],
      ...metadata,
    },
    spec,
  };
}

/** A widget of the provider that we made. */
export function providerWidget(spec: unknown, metadata: ObjectMeta = {}): DynamicObject {
  return {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: {
      name: "w",
      namespace: "cluster-a-app",
      uid: "provider-uid",
      resourceVersion: "20",
      annotations: { [boundAnnotation]: "true" },
      ...metadata,
    },
    spec,
  };
}

/** `managedFields` of one apply of ours. */
export function appliedBy(manager: string, operation: "Apply" | "Update", fieldsV1: object): unknown {
  return { manager, operation, apiVersion: "example.org/v1", fieldsType: "FieldsV1", fieldsV1 };
}

/** FieldsV1 of all leaves of a JSON object; lists are atomic. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [`f:${key}`, fieldsOf(child)]));
}
