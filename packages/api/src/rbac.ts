/** The rights of each part, as data; backend, CLI and the manifests in deploy/ all take them from here. */
import { bindGroup, templateGroup } from "./names.ts";
import type { APIServiceExport } from "./kinds/api-service-export.ts";
import type { AnsweredPermissionClaim, PermissionClaim } from "./kinds/permission-claim.ts";

/** `rules[]` of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
  readonly verbs: readonly string[];
}

const read = ["get", "list", "watch"] as const;
const all = [...read, "create", "update", "patch", "delete"] as const;

/** Of every app cluster's account in its own cluster namespace: the static ClusterRole `klutch-binder`. */
export const binderRules: readonly PolicyRule[] = [
  { apiGroups: [bindGroup], resources: ["apiserviceexportrequests", "apiservicenamespaces"], verbs: all },
  { apiGroups: [bindGroup], resources: ["clusterbindings", "apiserviceexports"], verbs: read },
  {
    apiGroups: [bindGroup],
    resources: ["clusterbindings/status", "apiserviceexports/status"],
    verbs: ["get", "patch", "update"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: read },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
];

/** Of one app cluster's account on the exported and claimed kinds, inside its service namespaces. */
export function exportRules(exports: readonly Pick<APIServiceExport, "spec">[]): readonly PolicyRule[] {
  const rules = new Map<string, PolicyRule>();
  const add = (group: string, resource: string): void => {
    rules.set(`${group}/${resource}`, { apiGroups: [group], resources: [resource], verbs: all });
  };
  for (const { spec } of exports) {
    add(spec.group, spec.names.plural);
    // Warnings about a claim's upstream object are shown on the claim.
    rules.set("/events", { apiGroups: [""], resources: ["events"], verbs: read });
    for (const claim of spec.permissionClaims ?? []) add(claim.group ?? "", claim.resource);
  }
  return [...rules.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, rule]) => rule);
}

/** Of the konnector in an app cluster, whatever is bound: the base ClusterRole. */
export const konnectorClusterRules: readonly PolicyRule[] = [
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: [...read, "create", "update", "patch"],
  },
  // `patch` is for the finalizer that keeps a binding until its unbinding is finished, and for the pinned provider.
  { apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: [...read, "patch"] },
  { apiGroups: [bindGroup], resources: ["apiservicebindings/status"], verbs: ["get", "patch", "update"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: read },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** Of the konnector in its own namespace. */
export const konnectorNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: [...read, "create", "update", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
];

/** Of the konnector for one bound API: the resource itself and what the accepted claims name. */
export function bindingRules(
  resource: { readonly group?: string | undefined; readonly resource: string },
  claims: readonly (AnsweredPermissionClaim | PermissionClaim)[],
): readonly PolicyRule[] {
  const group = resource.group ?? "";
  const accepted = claims.filter((claim) => !("state" in claim) || claim.state === "Accepted");
  return [
    // `create` is for objects that only the provider has and that the app cluster adopts, `delete` for unbinding with policy Delete.
    { apiGroups: [group], resources: [resource.resource], verbs: all },
    { apiGroups: [group], resources: [`${resource.resource}/status`], verbs: ["get", "update", "patch"] },
    ...accepted.flatMap(claimRules),
  ];
}

function claimRules(claim: PermissionClaim): readonly PolicyRule[] {
  const { resource, selector, update = {}, autoAdopt, autoDonate } = claim;
  const apiGroups = [claim.group ?? ""];
  const isPayload = apiGroups[0] === "" && (resource === "secrets" || resource === "configmaps");
  const status: PolicyRule[] = isPayload
    ? []
    : [{ apiGroups, resources: [`${resource}/status`], verbs: ["get", "update", "patch"] }];
  if (selector?.owner !== "Consumer" || autoAdopt === true || autoDonate === true)
    return [{ apiGroups, resources: [resource], verbs: all }, ...status];
  // The consumer's own objects are only read, unless the claim names what the provider may change in them.
  const changes = [
    update.fields,
    update.labelsOnConsumerOwnedObjects,
    update.annotationsOnConsumerOwnedObjects,
  ];
  const mayChange = changes.some((list) => list !== undefined && list.length > 0);
  return [{ apiGroups, resources: [resource], verbs: mayChange ? [...read, "patch"] : read }];
}

/** Of a konnector that runs in the provider cluster, in the namespace of its AppClusterBinding: Role `control-plane-connector`. */
export const controlPlaneConnectorRules: readonly PolicyRule[] = [
  { apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: all },
  { apiGroups: [bindGroup], resources: ["apiservicebindings/status"], verbs: ["get", "patch", "update"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: all },
  { apiGroups: [""], resources: ["secrets"], verbs: read },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** Of the backend in the control plane cluster, besides the rights it hands out. */
export const backendRules: readonly PolicyRule[] = [
  {
    apiGroups: [bindGroup],
    resources: [
      "apiservicebindings",
      "apiserviceexportrequests",
      "apiserviceexports",
      "apiservicenamespaces",
      "clusterbindings",
    ],
    verbs: all,
  },
  { apiGroups: [bindGroup], resources: ["appclusterbindings"], verbs: [...read, "patch"] },
  {
    apiGroups: [bindGroup],
    resources: [
      // Handed out to konnectors of the control-plane mode.
      "apiservicebindings/status",
      "apiserviceexportrequests/status",
      "apiserviceexports/status",
      "apiservicenamespaces/status",
      "appclusterbindings/status",
      "clusterbindings/status",
    ],
    verbs: ["get", "patch", "update"],
  },
  { apiGroups: [templateGroup], resources: ["apiserviceexporttemplates"], verbs: read },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: read },
  { apiGroups: [""], resources: ["namespaces"], verbs: [...read, "create", "patch", "update", "delete"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get", "create", "patch"] },
  { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  // List and watch tell of changed kubeconfigs in control-plane mode, where a copy of another type must also be deleted.
  { apiGroups: [""], resources: ["secrets"], verbs: all },
  // The konnectors of control-plane mode, and the rights that their Role has: what it holds itself it may hand out.
  { apiGroups: ["apps"], resources: ["deployments"], verbs: [...read, "create", "patch", "delete"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: all },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["roles"],
    verbs: ["get", "create", "patch"],
  },
  {
    // It hands out rights on kinds it does not know beforehand, which RBAC allows only with `bind` and `escalate`.
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    verbs: ["get", "list", "watch", "create", "patch", "update", "delete", "escalate", "bind"],
  },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["rolebindings", "clusterrolebindings"],
    verbs: ["get", "list", "watch", "create", "patch", "update", "delete"],
  },
];
