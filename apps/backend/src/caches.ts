/** The backend's caches of the control plane. */
import {
  type AppCluster,
  appClusters,
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  type APIServiceNamespace,
  apiServiceNamespaces,
  binderName,
  type ClusterBinding,
  clusterBindings,
  type Grant,
  grants,
  type KonnectorRollout,
  konnectorRollouts,
  type Tenant,
  tenantLimitsName,
  tenants,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  customResourceDefinitions,
  type KubeObject,
  namespaces,
  resourceQuotas,
  serviceAccounts,
} from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import type { AnyInformer } from "./app-cluster-bindings/controller.ts";
import { byNamespace, byTenant, type Caches, namespaceOf } from "./controller-context.ts";
import {
  byClusterKey,
  byIdentity,
  bySubject,
  clusterKeysOf,
  identitiesOf,
  subjectsOf,
} from "./provisioning/members.ts";
import { clusterNamespaceOf } from "./tenants/limits.ts";

/** Returns all of them, to be started. */
export function informersOf(caches: Caches): readonly AnyInformer[] {
  const { requests, exports, mappings, bindings, crds, namespaces: namespaceCache, accounts } = caches;
  const others = [caches.tenants, caches.limitQuotas, caches.grants, caches.appClusters, caches.rollouts];
  return [requests, exports, mappings, bindings, crds, namespaceCache, accounts, ...others];
}

/** Creates them. Where Grants do not decide, their kind may be absent, as in a control plane of an earlier release. */
export function createCaches(
  client: KubeClient,
  logger: Logger,
  options: { readonly needsGrants: boolean },
): Caches {
  const common = { client, logger };
  const indexes = { [byNamespace]: namespaceOf };
  return {
    grants: new Informer<Grant>({ ...common, type: grants, indexes, mayBeAbsent: !options.needsGrants }),
    requests: new Informer<APIServiceExportRequest>({ ...common, type: apiServiceExportRequests, indexes }),
    exports: new Informer<APIServiceExport>({ ...common, type: apiServiceExports, indexes }),
    mappings: new Informer<APIServiceNamespace>({ ...common, type: apiServiceNamespaces, indexes }),
    bindings: new Informer<ClusterBinding>({ ...common, type: clusterBindings, indexes }),
    crds: new Informer<KubeObject>({ ...common, type: customResourceDefinitions }),
    namespaces: new Informer<KubeObject>({
      ...common,
      type: namespaces,
      metadataOnly: true,
      indexes: {
        [byIdentity]: identitiesOf,
        [byClusterKey]: clusterKeysOf,
        [bySubject]: subjectsOf,
        [byTenant]: clusterNamespaceOf,
      },
    }),
    // A control plane that was upgraded may lack these kinds; then no tenant has limits, no app cluster binds by itself, and nothing is rolled out.
    tenants: new Informer<Tenant>({ ...common, type: tenants, mayBeAbsent: true }),
    appClusters: new Informer<AppCluster>({ ...common, type: appClusters, mayBeAbsent: true }),
    rollouts: new Informer<KonnectorRollout>({ ...common, type: konnectorRollouts, mayBeAbsent: true }),
    limitQuotas: new Informer<KubeObject>({
      ...common,
      type: resourceQuotas,
      // The role of the backend allows this name only.
      fieldSelector: `metadata.name=${tenantLimitsName}`,
    }),
    accounts: new Informer<KubeObject>({
      ...common,
      type: serviceAccounts,
      metadataOnly: true,
      // The role of the backend allows this name only.
      fieldSelector: `metadata.name=${binderName}`,
    }),
  };
}
