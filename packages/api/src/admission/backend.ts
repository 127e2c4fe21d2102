/**
 * Limits what the backend's account may write in the control plane, as a second line behind its role. The account must hold `escalate` on
 * cluster roles, because it grants rights on kinds that are unknown beforehand; this policy lists the rights that it never grants, and
 * `offers.ts` those that it may.
 */
import type { Manifest } from "../konnector-manifests.ts";
import {
  appClusterBindingAnnotation,
  binderName,
  bindGroup,
  connectorRoleName,
  identityAnnotation,
  offerVerb,
  podSecurityLabel,
  podSecurityLevel,
  serviceNamespaceAnnotation,
  templateGroup,
  tenantLimitsName,
  tenantName,
  tenantQuotaName,
} from "../names.ts";
import { controlPlaneConnectorRules } from "../rbac.ts";
import { konnectorPodRules, konnectorPodVariables } from "./konnector-pod.ts";
import { offerPolicyManifests } from "./offers.ts";
import { accountPolicyManifests, areKept, entriesOf, listed } from "./policy.ts";

/** Name of the policy and its binding; also of the account and its namespace. */
export const backendPolicyName = "klutch-backend";

/** Namespaces without an owner, whatever their annotations say. */
const closed = ["default", backendPolicyName, "crossplane-system"];
/** Annotations that name the owner of a namespace. */
const marks = [identityAnnotation, serviceNamespaceAnnotation, appClusterBindingAnnotation];
const handedOut = ["get", "list", "watch", "create", "update", "patch", "delete"];
const clusterWide = ":cluster-wide";
/** Kinds of Kubernetes itself that app clusters may be given, besides reading events. */
const coreKinds = ["secrets", "configmaps", "services", "persistentvolumeclaims"];
/** Groups whose objects steer the whole cluster: Crossplane's, Klutch's, those of GitOps and of policies. */
const steeringGroups = [
  "crossplane.io",
  "upbound.io",
  bindGroup,
  "argoproj.io",
  "fluxcd.io",
  "controlplane.io",
  "cattle.io",
  "kyverno.io",
  "gatekeeper.sh",
  "kubewarden.io",
  "cert-manager.io",
  "external-secrets.io",
  "istio.io",
  "cilium.io",
  "projectcalico.org",
  "openshift.io",
];

const isMarked = (object: string): string =>
  `(has(${object}.metadata.annotations) && ${listed(marks)}.exists(mark, mark in ${object}.metadata.annotations))`;
const isOpen = (name: string): string => `!${name}.startsWith('kube-') && !(${name} in ${listed(closed)})`;
const isOfGroup = (name: string, groups: readonly string[]): string =>
  `${listed(groups)}.exists(group, ${name} == group || ${name}.endsWith('.' + group))`;

/** A rule of the Role of konnectors in control-plane mode, as it is shipped or narrower. */
const isConnectorRule = controlPlaneConnectorRules
  .map(
    ({ apiGroups = [], resources = [], verbs }) =>
      `(rule.apiGroups.all(name, name in ${listed(apiGroups)}) && rule.resources.all(name, name in ${listed(resources)}) && rule.verbs.all(verb, verb in ${listed(verbs)}))`,
  )
  .join(" || ");

const ownPolicy = accountPolicyManifests({
  name: backendPolicyName,
  account: { namespace: backendPolicyName, name: backendPolicyName },
  variables: {
    isMain: "variables.part == ''",
    isCreation: "request.operation == 'CREATE'",
    isRemoval: "request.operation == 'DELETE'",
    named: "variables.isMain ? variables.written.metadata.name : request.name",
    isKlutch: `(request.resource.group == '${bindGroup}' && variables.part in ['', 'status']) || (request.resource.group == '${templateGroup}' && variables.part == 'status')`,
    isNamespace: "variables.resource == 'namespaces' && variables.isMain",
    isQuestion: "variables.resource == 'subjectaccessreviews.authorization.k8s.io' && variables.isMain",
    isTenants: `variables.place != '' && ${isOpen("variables.place")} && namespaceObject != null && ${isMarked("namespaceObject")}`,
    isAccount: "variables.resource == 'serviceaccounts' && variables.part in ['', 'token']",
    isTenant: `variables.resource == 'tenants.${bindGroup}' && variables.isMain`,
    isLimits: `variables.resource == 'resourcequotas' && variables.isMain && variables.named == '${tenantLimitsName}'`,
    isQuota: `variables.isLimits || (variables.resource == 'resourcequotas' && variables.isMain && variables.named == '${tenantQuotaName}' && !variables.isRemoval)`,
    isSecret: "variables.resource == 'secrets' && variables.isMain",
    isRole: "variables.resource == 'roles.rbac.authorization.k8s.io' && variables.isMain",
    isRoleBinding: "variables.resource == 'rolebindings.rbac.authorization.k8s.io' && variables.isMain",
    isDeployment: "variables.resource == 'deployments.apps' && variables.isMain",
    isInhabitant:
      "variables.isAccount || variables.isQuota || variables.isSecret || variables.isRole || variables.isRoleBinding || variables.isDeployment",
    isWideRole: "variables.resource == 'clusterroles.rbac.authorization.k8s.io' && variables.isMain",
    isWideBinding:
      "variables.resource == 'clusterrolebindings.rbac.authorization.k8s.io' && variables.isMain",
    isLease: `variables.resource == 'leases.coordination.k8s.io' && variables.isMain && variables.place == '${backendPolicyName}'`,
    isEvent:
      "variables.resource in ['events', 'events.events.k8s.io'] && variables.isMain && !variables.isRemoval",
    isNote: "variables.part == 'status' && variables.isTenants && variables.resource != 'namespaces'",
    isGrant: "(variables.isRole || variables.isWideRole) && !variables.isRemoval",
    subjects: "has(object.subjects) ? object.subjects : []",
    rules: "has(object.rules) && object.rules != null ? object.rules : []",
    labels: entriesOf("object", "labels"),
    annotations: entriesOf("object", "annotations"),
    oldLabels: `variables.isCreation ? {} : ${entriesOf("oldObject", "labels")}`,
    oldAnnotations: `variables.isCreation ? {} : ${entriesOf("oldObject", "annotations")}`,
    ...konnectorPodVariables,
  },
  rules: [
    {
      expression:
        "variables.isKlutch || variables.isNamespace || variables.isInhabitant || variables.isWideRole || variables.isWideBinding || variables.isLease || variables.isEvent || variables.isNote || variables.isQuestion",
      message: "the backend may write only objects of Klutch and what belongs to tenants",
    },
    {
      expression: `!variables.isNamespace || (${isOpen("variables.named")} && ${isMarked("(variables.isCreation ? object : oldObject)")})`,
      message:
        "the backend may write only namespaces that an annotation of Klutch marks as those of a tenant",
    },
    {
      expression: `!variables.isNamespace || variables.isRemoval || ('${podSecurityLabel}' in variables.labels ? (variables.labels['${podSecurityLabel}'] == '${podSecurityLevel}' || ('${podSecurityLabel}' in variables.oldLabels && variables.labels['${podSecurityLabel}'] == variables.oldLabels['${podSecurityLabel}'])) : (!variables.isCreation && !('${podSecurityLabel}' in variables.oldLabels)))`,
      message: `the backend may make only namespaces with the label ${podSecurityLabel}=${podSecurityLevel}, and may not lower it`,
    },
    {
      expression: "!variables.isInhabitant || variables.isTenants",
      message: "the backend may write this only in namespaces of tenants",
    },
    {
      expression: `!(variables.isMain && (variables.isNamespace || variables.isInhabitant || variables.isWideRole || variables.isWideBinding)) || variables.isRemoval || (${areKept("variables.labels", "variables.oldLabels", ["app", "kubernetes.io/metadata.name", podSecurityLabel])} && ${areKept("variables.annotations", "variables.oldAnnotations", ["kubernetes.io/service-account.name"])})`,
      message:
        "the backend may set and remove no labels and annotations but those of Klutch, because controllers act on others",
    },
    {
      expression: "!variables.isWideRole || variables.isRemoval || variables.labels == variables.oldLabels",
      message: "the backend may not label cluster roles, because other roles aggregate them by labels",
    },
    {
      expression: `!variables.isTenant || (variables.isCreation && variables.named == '${tenantName}' && variables.isTenants && (!has(object.spec) || !has(object.spec.limits)))`,
      message: `the backend may only create Tenants ${tenantName} without limits in namespaces of tenants, because operators decide about the rest`,
    },
    {
      expression: `!variables.isLimits || (variables.isTenants && has(namespaceObject.metadata.annotations) && '${serviceNamespaceAnnotation}' in namespaceObject.metadata.annotations)`,
      message: "the backend may limit objects only in service namespaces",
    },
    {
      expression:
        "!variables.isLimits || variables.isRemoval || (has(object.spec) && has(object.spec.hard) && object.spec.hard.all(name, name.startsWith('count/')) && !has(object.spec.scopes) && !has(object.spec.scopeSelector))",
      message: "the backend may limit only the number of objects",
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
      expression: `!variables.isRole || variables.isRemoval || variables.rules.all(rule, has(rule.apiGroups) && has(rule.resources) && (${isConnectorRule}))`,
      message: `the backend may give the Role ${connectorRoleName} no more rights than a konnector needs beside its bindings`,
    },
    {
      expression: `!variables.isGrant || (!has(object.aggregationRule) && variables.rules.all(rule, has(rule.apiGroups) && has(rule.resources) && !has(rule.nonResourceURLs) && !rule.apiGroups.exists(name, name == '*') && !rule.resources.exists(name, name.contains('*')) && rule.verbs.all(verb, verb in ${listed(handedOut)})))`,
      message: "the backend may not hand out wildcards and special verbs",
    },
    {
      expression: `!variables.isGrant || variables.isRole || variables.rules.all(rule, !rule.resources.exists(name, name.contains('/')) && rule.apiGroups.all(name, name == '' ? rule.resources.all(resource, resource in ${listed(coreKinds)} || (resource == 'events' && rule.verbs.all(verb, verb in ['get', 'list', 'watch']))) : (name.contains('.') && !${isOfGroup("name", ["k8s.io", "kubernetes.io", bindGroup])})))`,
      message: `the backend may not hand out rights on subresources, on kinds of Kubernetes but ${coreKinds.join(", ")}, and on kinds of Klutch`,
    },
    {
      expression: `!variables.isGrant || !variables.isWideRole || !variables.named.endsWith('${clusterWide}') || variables.rules.all(rule, rule.apiGroups.all(name, name.contains('.') && !${isOfGroup("name", steeringGroups)}))`,
      message:
        "the backend may not hand out rights in the whole cluster on kinds of Kubernetes, and on those that steer a cluster",
    },
    {
      // The list of offers is a parameter of another policy, which checks nothing without it.
      expression: `!variables.isGrant || variables.isRole || size(variables.rules) == 0 || authorizer.group('${bindGroup}').resource('apiserviceexports').check('${offerVerb}').allowed()`,
      message:
        "the backend may hand out nothing while the ClusterRole klutch-backend-claims with the list of offers is missing",
    },
    {
      expression: `!variables.isRoleBinding || variables.isRemoval || (variables.named in ${listed([binderName, connectorRoleName])} && (object.roleRef.kind == 'ClusterRole' ? (object.roleRef.name == '${binderName}' || object.roleRef.name.startsWith('${binderName}-')) : object.roleRef.name == '${connectorRoleName}'))`,
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
      expression: `!(variables.isRoleBinding || variables.isWideBinding) || variables.isRemoval || variables.subjects.all(subject, subject.kind == 'ServiceAccount' && subject.name == '${binderName}')`,
      message: `the backend may give rights only to service accounts ${binderName}`,
    },
    ...konnectorPodRules,
  ],
});

/** The backend's policies and their bindings. */
export const backendPolicyManifests: readonly Manifest[] = [...ownPolicy, ...offerPolicyManifests];
