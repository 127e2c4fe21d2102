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

export const namespaces: ResourceType = core("Namespace", "namespaces", false);
export const secrets: ResourceType = core("Secret", "secrets");
export const configMaps: ResourceType = core("ConfigMap", "configmaps");
export const pods: ResourceType = core("Pod", "pods");
export const serviceAccounts: ResourceType = core("ServiceAccount", "serviceaccounts");
export const events: ResourceType = core("Event", "events");
export const roles: ResourceType = rbac("Role", "roles", true);
export const roleBindings: ResourceType = rbac("RoleBinding", "rolebindings", true);
export const clusterRoles: ResourceType = rbac("ClusterRole", "clusterroles", false);
export const clusterRoleBindings: ResourceType = rbac("ClusterRoleBinding", "clusterrolebindings", false);
export const apiServices: ResourceType = {
  group: "apiregistration.k8s.io",
  version: "v1",
  plural: "apiservices",
  kind: "APIService",
  namespaced: false,
};
export const deployments: ResourceType = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};
export const leases: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
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
/** Served by Kubernetes 1.30 and newer. */
export const validatingAdmissionPolicies: ResourceType = admission(
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
);
/** See `validatingAdmissionPolicies`. */
export const validatingAdmissionPolicyBindings: ResourceType = admission(
  "ValidatingAdmissionPolicyBinding",
  "validatingadmissionpolicybindings",
);
