/** The resources of Klutch's own kinds. */
import type { ResourceType } from "@klutch/kube-core";
import { bindGroup, dataservicesGroup, namespacedDataservicesGroup, templateGroup } from "./names.ts";

const bind = (kind: string, plural: string): ResourceType => ({
  group: bindGroup,
  version: "v1alpha1",
  plural,
  kind,
  namespaced: true,
});
const managed = (kind: string, plural: string): ResourceType => ({
  group: dataservicesGroup,
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
const namespaced = (legacy: ResourceType): ResourceType => ({
  ...legacy,
  group: namespacedDataservicesGroup,
  namespaced: true,
});

/** Klutch's own kinds. */
export const apiServiceExportRequests: ResourceType = bind(
  "APIServiceExportRequest",
  "apiserviceexportrequests",
);
export const apiServiceExports: ResourceType = bind("APIServiceExport", "apiserviceexports");
export const apiServiceNamespaces: ResourceType = bind("APIServiceNamespace", "apiservicenamespaces");
export const clusterBindings: ResourceType = bind("ClusterBinding", "clusterbindings");
export const grants: ResourceType = bind("Grant", "grants");
export const tenants: ResourceType = bind("Tenant", "tenants");
/** Cluster-scoped. */
export const appClusters: ResourceType = { ...bind("AppCluster", "appclusters"), namespaced: false };
/** Cluster-scoped. */
export const konnectorRollouts: ResourceType = {
  ...bind("KonnectorRollout", "konnectorrollouts"),
  namespaced: false,
};
export const appClusterBindings: ResourceType = bind("AppClusterBinding", "appclusterbindings");
export const apiServiceBindings: ResourceType = bind("APIServiceBinding", "apiservicebindings");
export const apiServiceExportTemplates: ResourceType = {
  ...bind("APIServiceExportTemplate", "apiserviceexporttemplates"),
  group: templateGroup,
};

/** The provider's cluster-scoped kinds. */
export const serviceInstances: ResourceType = managed("ServiceInstance", "serviceinstances");
export const managedServiceBindings: ResourceType = managed("ServiceBinding", "servicebindings");
export const backups: ResourceType = managed("Backup", "backups");
export const restores: ResourceType = managed("Restore", "restores");
export const providerConfigs: ResourceType = managed("ProviderConfig", "providerconfigs");
export const providerConfigUsages: ResourceType = managed("ProviderConfigUsage", "providerconfigusages");
export const usageLedgers: ResourceType = managed("UsageLedger", "usageledgers");
export const storeConfigs: ResourceType = managed("StoreConfig", "storeconfigs");

/** The provider's namespaced kinds, and what goes with them. */
export const namespacedServiceInstances: ResourceType = namespaced(serviceInstances);
export const namespacedServiceBindings: ResourceType = namespaced(managedServiceBindings);
export const namespacedBackups: ResourceType = namespaced(backups);
export const namespacedRestores: ResourceType = namespaced(restores);
export const namespacedProviderConfigs: ResourceType = namespaced(providerConfigs);
export const namespacedProviderConfigUsages: ResourceType = namespaced(providerConfigUsages);
export const clusterProviderConfigs: ResourceType = {
  ...managed("ClusterProviderConfig", "clusterproviderconfigs"),
  group: namespacedDataservicesGroup,
};
