/**
 * Limits what the backend's account may write in the control plane, as a second line behind its role. The account must hold `escalate` on
 * cluster roles, because it grants rights on kinds that are unknown beforehand; this policy lists the rights that it never grants.
 */
import type { Manifest } from "../konnector-manifests.ts";
import {
  appClusterBindingAnnotation,
  binderName,
  bindGroup,
  connectorRoleName,
  identityAnnotation,
  konnectorName,
  serviceNamespaceAnnotation,
  templateGroup,
} from "../names.ts";
import { accountPolicyManifests } from "./policy.ts";

/** Name of the policy and its binding; also of the account and its namespace. */
export const backendPolicyName = "klutch-backend";

/** Namespaces without an owner, whatever their annotations say. */
const closed = ["default", backendPolicyName, "crossplane-system"];
/** Annotations that name the owner of a namespace. */
const marks = [identityAnnotation, serviceNamespaceAnnotation, appClusterBindingAnnotation];
/** Resources whose rights would give an account all other rights, or let it act on every request. */
const powerful = [
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "certificates.k8s.io",
  "rbac.authorization.k8s.io",
];
const handedOut = ["get", "list", "watch", "create", "update", "patch", "delete"];
const clusterWide = ":cluster-wide";

const listed = (values: readonly string[]): string => `[${values.map((value) => `'${value}'`).join(", ")}]`;
const isMarked = (object: string): string =>
  `(has(${object}.metadata.annotations) && ${listed(marks)}.exists(mark, mark in ${object}.metadata.annotations))`;
const isOpen = (name: string): string => `!${name}.startsWith('kube-') && !(${name} in ${listed(closed)})`;

/** The policy and its binding. */
export const backendPolicyManifests: readonly Manifest[] = accountPolicyManifests({
  name: backendPolicyName,
  account: { namespace: backendPolicyName, name: backendPolicyName },
  variables: {
    isMain: "variables.part == ''",
    isCreation: "request.operation == 'CREATE'",
    isRemoval: "request.operation == 'DELETE'",
    named: "variables.isMain ? variables.written.metadata.name : request.name",
    isKlutch: `(request.resource.group == '${bindGroup}' && variables.part in ['', 'status']) || (request.resource.group == '${templateGroup}' && variables.part == 'status')`,
    isNamespace: "variables.resource == 'namespaces' && variables.isMain",
    isTenants: `variables.place != '' && ${isOpen("variables.place")} && namespaceObject != null && ${isMarked("namespaceObject")}`,
    isAccount: "variables.resource == 'serviceaccounts' && variables.part in ['', 'token']",
    isSecret: "variables.resource == 'secrets' && variables.isMain",
    isRole: "variables.resource == 'roles.rbac.authorization.k8s.io' && variables.isMain",
    isRoleBinding: "variables.resource == 'rolebindings.rbac.authorization.k8s.io' && variables.isMain",
    isDeployment: "variables.resource == 'deployments.apps' && variables.isMain",
    isInhabitant:
      "variables.isAccount || variables.isSecret || variables.isRole || variables.isRoleBinding || variables.isDeployment",
    isWideRole: "variables.resource == 'clusterroles.rbac.authorization.k8s.io' && variables.isMain",
    isWideBinding:
      "variables.resource == 'clusterrolebindings.rbac.authorization.k8s.io' && variables.isMain",
    isLease: `variables.resource == 'leases.coordination.k8s.io' && variables.isMain && variables.place == '${backendPolicyName}'`,
    isEvent:
      "variables.resource in ['events', 'events.events.k8s.io'] && variables.isMain && !variables.isRemoval",
    isNote: "variables.part == 'status' && variables.isTenants",
    subjects: "has(object.subjects) ? object.subjects : []",
    rules: "has(object.rules) && object.rules != null ? object.rules : []",
    pod: "object.spec.template.spec",
  },
  rules: [
    {
      expression:
        "variables.isKlutch || variables.isNamespace || variables.isInhabitant || variables.isWideRole || variables.isWideBinding || variables.isLease || variables.isEvent || variables.isNote",
      message: "the backend may write only objects of Klutch and what belongs to tenants",
    },
    {
      expression: `!variables.isNamespace || (${isOpen("variables.named")} && ${isMarked("(variables.isCreation ? object : oldObject)")})`,
      message:
        "the backend may write only namespaces that an annotation of Klutch marks as those of a tenant",
    },
    {
      expression: "!variables.isInhabitant || variables.isTenants",
      message: "the backend may write this only in namespaces of tenants",
    },
    {
      expression: `!variables.isAccount || variables.named == '${binderName}'`,
      message: `the backend may write only service accounts and tokens of ${binderName}`,
    },
    {
      expression: `!variables.isSecret || variables.isRemoval || object.type == 'Opaque' || (object.type == 'kubernetes.io/service-account-token' && variables.named == '${binderName}' && object.metadata.annotations['kubernetes.io/service-account.name'] == '${binderName}')`,
      message: "the backend may not write Secrets of this type",
    },
    {
      expression: `!variables.isRole || variables.named == '${connectorRoleName}'`,
      message: `the backend may write only the Role ${connectorRoleName}`,
    },
    {
      expression: `!(variables.isRole || variables.isWideRole) || variables.isRemoval || (!has(object.aggregationRule) && variables.rules.all(rule, has(rule.apiGroups) && has(rule.resources) && !has(rule.nonResourceURLs) && !rule.apiGroups.exists(name, name == '*' || name in ${listed(powerful)}) && !rule.resources.exists(name, name.contains('*')) && rule.verbs.all(verb, verb in ${listed(handedOut)})))`,
      message:
        "the backend may not hand out wildcards, special verbs, or rights on RBAC, admission and API definitions",
    },
    {
      expression: `!variables.isRoleBinding || variables.isRemoval || (variables.named in ${listed([binderName, connectorRoleName])} && (object.roleRef.kind == 'ClusterRole' ? object.roleRef.name.startsWith('${binderName}') : object.roleRef.name == '${connectorRoleName}'))`,
      message: `the backend may bind only roles of Klutch`,
    },
    {
      expression: `!(variables.isWideRole || variables.isWideBinding) || variables.named.startsWith('${binderName}-')`,
      message: `the backend may write only cluster roles and their bindings whose names begin with ${binderName}-`,
    },
    {
      expression: `!variables.isWideBinding || variables.isRemoval || (variables.named.endsWith('${clusterWide}') && object.roleRef.kind == 'ClusterRole' && object.roleRef.name == variables.named)`,
      message: `the backend may bind in the whole cluster only a role of its own for that, which ends in ${clusterWide}`,
    },
    {
      expression: `!variables.isWideRole || variables.isRemoval || !variables.named.endsWith('${clusterWide}') || variables.rules.all(rule, rule.apiGroups.all(name, name.contains('.') && !name.endsWith('.k8s.io') && !name.endsWith('.kubernetes.io') && name != 'k8s.io' && name != 'kubernetes.io'))`,
      message: "the backend may not hand out rights on kinds of Kubernetes in the whole cluster",
    },
    {
      expression: `!(variables.isRoleBinding || variables.isWideBinding) || variables.isRemoval || variables.subjects.all(subject, subject.kind == 'ServiceAccount' && subject.name == '${binderName}')`,
      message: `the backend may give rights only to service accounts ${binderName}`,
    },
    {
      expression: `!variables.isDeployment || variables.isRemoval || (variables.named.startsWith('${konnectorName}-') && has(variables.pod.serviceAccountName) && variables.pod.serviceAccountName == '${binderName}' && !['hostNetwork', 'hostPID', 'hostIPC'].exists(field, field in variables.pod && variables.pod[field] == true) && !(variables.pod.containers + (has(variables.pod.initContainers) ? variables.pod.initContainers : [])).exists(container, has(container.securityContext) && has(container.securityContext.privileged) && container.securityContext.privileged) && !(has(variables.pod.volumes) && variables.pod.volumes.exists(volume, has(volume.hostPath))))`,
      message: "the backend may deploy only konnectors, and only without rights on the node",
    },
  ],
});
