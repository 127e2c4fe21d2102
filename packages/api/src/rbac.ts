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
  { apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: read },
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
    // `create` is for objects that only the provider has and that the app cluster adopts.
    { apiGroups: [group], resources: [resource.resource], verbs: [...read, "create", "update", "patch"] },
    { apiGroups: [group], resources: [`${resource.resource}/status`], verbs: ["get", "update", "patch"] },
    ...accepted.map((claim) => ({
      apiGroups: [claim.group ?? ""],
      resources: [claim.resource],
      // Consumer-owned objects are only read; their status is never written.
      verbs: claim.selector?.owner === "Consumer" ? read : all,
    })),
  ];
}

/** Of the backend in the control plane cluster, besides the rights it hands out. */
export const backendRules: readonly PolicyRule[] = [
  {
    apiGroups: [bindGroup],
    resources: ["apiserviceexportrequests", "apiserviceexports", "apiservicenamespaces", "clusterbindings"],
    verbs: all,
  },
  {
    apiGroups: [bindGroup],
    resources: [
      "apiserviceexportrequests/status",
      "apiserviceexports/status",
      "apiservicenamespaces/status",
      "clusterbindings/status",
    ],
    verbs: ["get", "patch", "update"],
  },
  { apiGroups: [templateGroup], resources: ["apiserviceexporttemplates"], verbs: read },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: read },
  { apiGroups: [""], resources: ["namespaces"], verbs: [...read, "create", "patch", "update", "delete"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get", "create", "patch"] },
  { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "update", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
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
