/** The controller of Tenants: what wakes it, and whom it wakes. */
import { type ClusterBinding, clusterBindingName, type Tenant, tenantName } from "@klutch/api";
import { jsonEqual, keyOf, keyOfRef } from "@klutch/kube-core";
import { type Change, Controller, type ControllerOptions, type EventRecorder } from "@klutch/kube-runtime";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { clusterNamespaceOf, namespaceLimit } from "./limits.ts";
import { createTenantReconcile } from "./reconciler.ts";

/** Parts that follow the limit of namespaces. */
export interface LimitFollowers {
  readonly bindings: Controller;
  readonly mappings: Controller;
  /** Returns the keys of mappings that may have room now. */
  readonly waitingIn: (namespace: string) => readonly string[];
}

/** Creates it. */
export function createTenantController(
  context: ControllerContext,
  { bindings, mappings, waitingIn }: LimitFollowers,
  {
    events,
    ...options
  }: Pick<ControllerOptions, "groups" | "logger" | "metrics" | "tracer" | "clock"> & {
    readonly events: EventRecorder;
  },
): Controller {
  const { caches } = context;
  const controller = new Controller({
    ...options,
    name: "tenants",
    kind: caches.tenants.type.kind,
    reconcile: createTenantReconcile(context, events),
  });
  const tenantOf = (namespace: string): readonly string[] => {
    const isBound = caches.bindings.get(keyOfRef({ namespace, name: clusterBindingName })) !== undefined;
    return isBound ? [keyOfRef({ namespace, name: tenantName })] : [];
  };
  controller.watch(caches.tenants);
  controller.watch(caches.bindings, (change) => {
    const { namespace = "" } = change.object.metadata;
    return saysSame(change) ? [] : [keyOfRef({ namespace, name: tenantName })];
  });
  // Members are annotations of the cluster namespace.
  controller.watch(caches.namespaces, ({ object }) => [
    ...tenantOf(object.metadata.name ?? ""),
    ...clusterNamespaceOf(object).flatMap(tenantOf),
  ]);
  controller.watch(caches.limitQuotas, ({ object }) => {
    const place = caches.namespaces.get(object.metadata.namespace ?? "");
    return place === undefined ? [] : clusterNamespaceOf(place).flatMap(tenantOf);
  });
  controller.watch(caches.mappings, ({ object }) => tenantOf(object.metadata.namespace ?? ""));
  controller.watch(caches.grants, ({ object }) => tenantOf(object.metadata.namespace ?? ""));
  context.credentialEnds.onChange((namespace) => {
    for (const key of tenantOf(namespace))
      controller.enqueue(key, { reason: "its credential ends at another time" });
  });
  context.budgets?.onChange((namespace) => {
    for (const key of tenantOf(namespace))
      controller.enqueue(key, { reason: "its budget is used otherwise" });
  });
  // A kind that a limit names may come or go.
  controller.watch(caches.crds, ({ type }) =>
    type === "updated"
      ? []
      : [...caches.tenants.list()]
          .filter(({ spec }) => (spec.limits?.objects ?? []).length > 0)
          .map((tenant) => keyOf(tenant)),
  );
  const limitMoved = (change: Change<Tenant>): boolean =>
    change.type !== "updated" ||
    change.previous.spec.limits?.serviceNamespaces !== change.object.spec.limits?.serviceNamespaces;
  bindings.watch(caches.tenants, (change) =>
    limitMoved(change)
      ? [keyOfRef({ namespace: change.object.metadata.namespace ?? "", name: clusterBindingName })]
      : [],
  );
  mappings.watch(caches.tenants, (change) =>
    limitMoved(change) ? waitingIn(change.object.metadata.namespace ?? "") : [],
  );
  // Mappings that wait are reported on the ClusterBinding: once for thousands that come or go.
  caches.mappings.onChange(({ object }) => {
    const { namespace = "" } = object.metadata;
    const count = caches.mappings.byIndex(byNamespace, namespace).length;
    if (count <= namespaceLimit(context, namespace).most) return;
    bindings.enqueue(`${namespace}/${clusterBindingName}`, { afterMs: 3_000, reason: "mappings wait" });
  });
  return controller;
}

/** Returns true for a heartbeat, and whatever else is not about names and limits. */
function saysSame(change: Change<ClusterBinding>): boolean {
  if (change.type !== "updated") return false;
  const { previous, object } = change;
  return (
    jsonEqual(previous.metadata.annotations ?? {}, object.metadata.annotations ?? {}) &&
    jsonEqual(previous.status?.limits ?? [], object.status?.limits ?? []) &&
    previous.status?.contact === object.status?.contact
  );
}
