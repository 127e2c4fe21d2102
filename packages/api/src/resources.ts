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
const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced,
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

/** Kubernetes' own resources. */
export const namespaces: Resource = core("Namespace", "namespaces", false);
export const secrets: Resource = core("Secret", "secrets");
export const configMaps: Resource = core("ConfigMap", "configmaps");
export const pods: Resource = core("Pod", "pods");
export const serviceAccounts: Resource = core("ServiceAccount", "serviceaccounts");
export const events: Resource = core("Event", "events");
export const roles: Resource = rbac("Role", "roles", true);
export const roleBindings: Resource = rbac("RoleBinding", "rolebindings", true);
export const clusterRoles: Resource = rbac("ClusterRole", "clusterroles", false);
export const clusterRoleBindings: Resource = rbac("ClusterRoleBinding", "clusterrolebindings", false);
export const apiServices: Resource = {
  group: "apiregistration.k8s.io",
  version: "v1",
  plural: "apiservices",
  kind: "APIService",
  namespaced: false,
};
export const deployments: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};
export const leases: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
export const customResourceDefinitions: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

const admission = (kind: string, plural: string): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
/** Served by Kubernetes 1.30 and newer. */
export const validatingAdmissionPolicies: Resource = admission(
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
);
/** See `validatingAdmissionPolicies`. */
export const validatingAdmissionPolicyBindings: Resource = admission(
  "ValidatingAdmissionPolicyBinding",
  "validatingadmissionpolicybindings",
);
