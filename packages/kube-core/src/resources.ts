/** The resources of Kubernetes itself that Klutch talks to. */
import type { ResourceType } from "./resource-type.ts";

const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const rbac = (kind: string, plural: string, namespaced: boolean): ResourceType => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced,
});

/** Namespaces; cluster-scoped. */
export const namespaces: ResourceType = core("Namespace", "namespaces", false);
/** Secrets. */
export const secrets: ResourceType = core("Secret", "secrets");
/** ConfigMaps. */
export const configMaps: ResourceType = core("ConfigMap", "configmaps");
/** Pods. */
export const pods: ResourceType = core("Pod", "pods");
/** ResourceQuotas: limits for the objects of one namespace. */
export const resourceQuotas: ResourceType = core("ResourceQuota", "resourcequotas");
/** ServiceAccounts. Tokens are their subresource `token`. */
export const serviceAccounts: ResourceType = core("ServiceAccount", "serviceaccounts");
/** Events of the core group, which most tools show. */
export const events: ResourceType = core("Event", "events");
/** Roles: rights in one namespace. */
export const roles: ResourceType = rbac("Role", "roles", true);
/** RoleBindings: give a Role's or a ClusterRole's rights in one namespace. */
export const roleBindings: ResourceType = rbac("RoleBinding", "rolebindings", true);
/** ClusterRoles: rights, wherever they are bound; cluster-scoped. */
export const clusterRoles: ResourceType = rbac("ClusterRole", "clusterroles", false);
/** ClusterRoleBindings: give a ClusterRole's rights in all namespaces; cluster-scoped. */
export const clusterRoleBindings: ResourceType = rbac("ClusterRoleBinding", "clusterrolebindings", false);
/** APIServices: the groups that the API server or an extension of it serves; cluster-scoped. */
export const apiServices: ResourceType = {
  group: "apiregistration.k8s.io",
  version: "v1",
  plural: "apiservices",
  kind: "APIService",
  namespaced: false,
};
/** Deployments. */
export const deployments: ResourceType = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};
/** Leases: who is the leader. */
export const leases: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
/** CustomResourceDefinitions; cluster-scoped. */
export const customResourceDefinitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

const admission = (kind: string, plural: string): ResourceType => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
/** ValidatingAdmissionPolicies; cluster-scoped. Served by Kubernetes 1.30 and newer. */
export const validatingAdmissionPolicies: ResourceType = admission(
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
);
/** Puts a ValidatingAdmissionPolicy into force; cluster-scoped. Served by Kubernetes 1.30 and newer. */
export const validatingAdmissionPolicyBindings: ResourceType = admission(
  "ValidatingAdmissionPolicyBinding",
  "validatingadmissionpolicybindings",
);
/** MutatingAdmissionPolicies; cluster-scoped. Served as v1 by Kubernetes 1.36 and newer. */
export const mutatingAdmissionPolicies: ResourceType = admission(
  "MutatingAdmissionPolicy",
  "mutatingadmissionpolicies",
);
/** Puts a MutatingAdmissionPolicy into force; cluster-scoped. Served as v1 by Kubernetes 1.36 and newer. */
export const mutatingAdmissionPolicyBindings: ResourceType = admission(
  "MutatingAdmissionPolicyBinding",
  "mutatingadmissionpolicybindings",
);
/** Questions whether a user may do something; only created, never stored. */
export const subjectAccessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "subjectaccessreviews",
  kind: "SubjectAccessReview",
  namespaced: false,
};
