/** The resources Klutch's parts talk to, as request paths need them. Structurally a `ResourceType` of @klutch/kube. */
import { bindGroup, dataservicesGroup, templateGroup } from "./names.ts";

/** A served resource; the same shape as @klutch/kube's `ResourceType`, which this package may not import. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const bind = (kind: string, plural: string): Resource => ({
  group: bindGroup,
  version: "v1alpha1",
  plural,
  kind,
  namespaced: true,
});
const managed = (kind: string, plural: string): Resource => ({
  group: dataservicesGroup,
  version: "v1",
  plural,
  kind,
  namespaced: false,
});

/** Klutch's own kinds. */
export const apiServiceExportRequests: Resource = bind("APIServiceExportRequest", "apiserviceexportrequests");
export const apiServiceExports: Resource = bind("APIServiceExport", "apiserviceexports");
export const apiServiceNamespaces: Resource = bind("APIServiceNamespace", "apiservicenamespaces");
export const clusterBindings: Resource = bind("ClusterBinding", "clusterbindings");
export const appClusterBindings: Resource = bind("AppClusterBinding", "appclusterbindings");
export const apiServiceBindings: Resource = bind("APIServiceBinding", "apiservicebindings");
export const apiServiceExportTemplates: Resource = {
  ...bind("APIServiceExportTemplate", "apiserviceexporttemplates"),
  group: templateGroup,
};

/** The provider's kinds. */
export const serviceInstances: Resource = managed("ServiceInstance", "serviceinstances");
export const managedServiceBindings: Resource = managed("ServiceBinding", "servicebindings");
export const backups: Resource = managed("Backup", "backups");
export const restores: Resource = managed("Restore", "restores");
export const providerConfigs: Resource = managed("ProviderConfig", "providerconfigs");
export const providerConfigUsages: Resource = managed("ProviderConfigUsage", "providerconfigusages");
export const storeConfigs: Resource = managed("StoreConfig", "storeconfigs");
