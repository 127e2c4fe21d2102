/** The controllers of the control plane, and the changes that wake them. */
import {
  type APIServiceExportTemplate,
  crdNameOf,
  readServiceNamespaceOwner,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import { keyOf, keyOfRef, refOf } from "@klutch/kube-core";
import { Controller, type ControllerOptions, createEventRecorder, type Informer } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { appClusterOf, createAppClusterReconcile } from "./app-clusters/reconciler.ts";
import { createGrantReconcile } from "./grants/reconciler.ts";
import { grantsFor } from "./authorization/grants.ts";
import { isRevokedExport } from "./authorization/revoked-exports.ts";
import { announceSoon, createAnnouncementController } from "./cluster-bindings/announcements.ts";
import { createCanaryController } from "./cluster-bindings/canary.ts";
import { Heartbeats } from "./cluster-bindings/heartbeats.ts";
import { createClusterBindingReconcile } from "./cluster-bindings/reconciler.ts";
import { WithdrawnRights } from "./cluster-bindings/withdrawn-rights.ts";
import { byNamespace, type ControllerContext } from "./controller-context.ts";
import { createExportRequestReconcile } from "./exports/request-reconciler.ts";
import { createExportReconcile } from "./exports/reconciler.ts";
import { createTemplateReconcile } from "./exports/template-reconciler.ts";
import * as declarations from "./metrics.ts";
import { isStatusOnly } from "./status-only.ts";
import { RecentStates } from "./recent.ts";
import { createRolloutController } from "./rollouts/reconciler.ts";
import { createServiceNamespaceReconcile, waitingFor } from "./service-namespaces/reconciler.ts";
import { createTenantController } from "./tenants/controller.ts";

/**
 * Tenants take turns: one that writes thousands of objects holds up the others by one object each time, and keeps the API server busy for half
 * of the time.
 */
const byTenant = { of: (key: string): string => refOf(key).namespace ?? "", atOnce: 1, restsAbove: 50 };

/** Exports are counted once for all that come or go in this time. */
const countAfterMs = 2_000;

/** Creates them. They do nothing until they are started. */
export function createControllers(
  options: Pick<ControllerOptions, "tracer"> & { readonly logger: Logger; readonly metrics: Metrics },
  context: ControllerContext,
  templates: Informer<APIServiceExportTemplate>,
): readonly Controller[] {
  const { logger, metrics, tracer } = options;
  const { caches, clock } = context;
  const common = { logger, metrics, tracer, clock };
  const states = new RecentStates(clock);
  const requests = new Controller({
    name: "exportrequests",
    kind: caches.requests.type.kind,
    groups: byTenant,
    reconcile: createExportRequestReconcile(context),
    ...common,
  });
  const exports = new Controller({
    name: "exports",
    kind: caches.exports.type.kind,
    groups: byTenant,
    reconcile: createExportReconcile(context),
    ...common,
  });
  const mappings = new Controller({
    name: "servicenamespaces",
    kind: caches.mappings.type.kind,
    groups: byTenant,
    reconcile: createServiceNamespaceReconcile(context, states),
    ...common,
  });
  const grants = new Controller({
    name: "grants",
    kind: caches.grants.type.kind,
    groups: byTenant,
    reconcile: createGrantReconcile(context),
    ...common,
  });
  const appClusters = new Controller({
    name: "appclusters",
    kind: caches.appClusters.type.kind,
    reconcile: createAppClusterReconcile(context),
    ...common,
  });
  appClusters.watch(caches.appClusters);
  appClusters.watch(caches.namespaces, ({ object }) => appClusterOf(object));
  appClusters.watch(caches.exports, ({ object }) => {
    const place = caches.namespaces.get(object.metadata.namespace ?? "");
    return place === undefined ? [] : appClusterOf(place);
  });
  const heartbeats = new Heartbeats(context.clock);
  const withdrawn = new WithdrawnRights(context);
  metrics.read(declarations.unauthorizedExports, () => withdrawn.count());
  const bindings = new Controller({
    name: "clusterbindings",
    kind: caches.bindings.type.kind,
    groups: byTenant,
    reconcile: createClusterBindingReconcile(context, heartbeats, withdrawn, states),
    ...common,
  });
  const templateStates = new Controller({
    name: "exporttemplates",
    kind: templates.type.kind,
    reconcile: createTemplateReconcile(context),
    ...common,
  });
  // There are few: each change of a template may decide which one of several counts, and each CRD may be the missing one.
  const allTemplates = (): readonly string[] => [...templates.list()].map((object) => keyOf(object));
  templateStates.watch(templates, (change) =>
    isStatusOnly(change) ? [change.key] : [change.key, ...allTemplates()],
  );
  templateStates.watch(caches.crds, allTemplates);
  // They are counted only, app clusters report to them all the time, and logins come in numbers.
  caches.exports.onChange(({ type, object }) => {
    if (type === "updated") return;
    for (const template of templates.list())
      if (crdNameOf(template.spec.APIServiceSelector) === object.metadata.name)
        templateStates.enqueue(keyOf(template), { afterMs: countAfterMs, reason: "exports to be counted" });
  });
  requests.watch(caches.requests);
  exports.watch(caches.exports);
  exports.watch(caches.crds, ({ key }) =>
    [...caches.exports.list()].filter(({ metadata }) => metadata.name === key).map((object) => keyOf(object)),
  );
  // A template may begin or end to select any API. Its status counts exports: it must not wake all of them at each bind.
  exports.watch(templates, (change) =>
    isStatusOnly(change) ? [] : [...caches.exports.list()].map((object) => keyOf(object)),
  );
  // A person binds, and the plugin asks a moment later: the record may come to this cache after the request.
  requests.watch(caches.grants, ({ object }) =>
    caches.requests.byIndex(byNamespace, object.metadata.namespace ?? "").map((request) => keyOf(request)),
  );
  bindings.watch(caches.grants, ({ object }) => {
    const { namespace = "" } = object.metadata;
    withdrawn.forget(namespace);
    return caches.bindings.byIndex(byNamespace, namespace).map((binding) => keyOf(binding));
  });
  grants.watch(caches.grants);
  // An export that was marked while somebody bound the API again.
  grants.watch(caches.exports, ({ object }) => {
    if (!isRevokedExport(object)) return [];
    const { spec, metadata } = object;
    const records = caches.grants.byIndex(byNamespace, metadata.namespace ?? "");
    return grantsFor(records, { group: spec.group, resource: spec.names.plural }).map((grant) =>
      keyOf(grant),
    );
  });
  // Requests that wait for a CRD go on when it appears.
  requests.watch(caches.crds, () =>
    [...caches.requests.list()]
      .filter(({ status }) => (status?.phase ?? "Pending") === "Pending")
      .map((object) => keyOf(object)),
  );
  const waitingIn = (namespace: string): readonly string[] =>
    waitingFor(context, namespace).map((mapping) => keyOf(mapping));
  // One that goes makes room for those that wait.
  mappings.watch(caches.mappings, ({ type, key, object }) => {
    return [key, ...(type === "deleted" ? waitingIn(object.metadata.namespace ?? "") : [])];
  });
  mappings.watch(caches.namespaces, ({ object }) => {
    const owner = readServiceNamespaceOwner(object.metadata.annotations?.[serviceNamespaceAnnotation]);
    if (owner === undefined) return [];
    return [keyOfRef({ namespace: owner.clusterNamespace, name: owner.consumerNamespace })];
  });
  // Before the app clusters that have their rights already: their binding is only looked at again.
  caches.bindings.onChange(({ type, key, object }) => {
    if (type === "added" && object.status?.conditions === undefined)
      bindings.enqueue(key, { priority: "high", reason: "a new app cluster" });
  });
  bindings.watch(caches.bindings, (change) => heartbeats.keysFor(change));
  const bindingsIn = (namespace: string): readonly string[] =>
    caches.bindings.byIndex(byNamespace, namespace).map((binding) => keyOf(binding));
  // Rights follow what an export says, and not what its app cluster reports to it.
  bindings.watch(caches.exports, (change) =>
    isStatusOnly(change) ? [] : bindingsIn(change.object.metadata.namespace ?? ""),
  );
  // A revocation shows at once: the operator deletes the account, and annotates the namespace.
  bindings.watch(caches.accounts, ({ object }) => bindingsIn(object.metadata.namespace ?? ""));
  bindings.watch(caches.namespaces, ({ object }) => bindingsIn(object.metadata.name ?? ""));
  const events = createEventRecorder({ ...context, logger, component: "klutch-backend" });
  const tenants = createTenantController(
    context,
    { bindings, mappings, waitingIn },
    { groups: byTenant, ...common, events },
  );
  const canary = createCanaryController(context, { groups: byTenant, ...common });
  const announcements = createAnnouncementController(context, { groups: byTenant, ...common });
  templates.onChange(() => announceSoon(announcements, caches));
  context.exportTemplates.onPrices(() => announceSoon(announcements, caches));
  caches.crds.onChange(({ key }) => {
    const isOffered = [...templates.list()].some(({ spec }) => crdNameOf(spec.APIServiceSelector) === key);
    if (isOffered) announceSoon(announcements, caches);
  });
  const ofTenants = [requests, exports, mappings, grants, bindings, tenants, canary, announcements];
  const rollouts = createRolloutController({ ...context, events }, { logger, metrics });
  return [...ofTenants, templateStates, appClusters, rollouts];
}
