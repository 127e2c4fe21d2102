/** The rights of each part, as data; backend, CLI and the manifests in deploy/ all take them from here. */
import { isDnsSubdomain, type PolicyRule } from "@klutch/kube-core";
import { isBuiltInGroup } from "./foreign/api-name.ts";
import {
  binderName,
  bindGroup,
  dataservicesGroup,
  kubeconfigKey,
  namespacedDataservicesGroup,
  templateGroup,
  tenantLimitsName,
} from "./names.ts";
import { crdNameOf } from "./naming.ts";
import type { APIServiceExport } from "./kinds/api-service-export.ts";
import type { AnsweredPermissionClaim, PermissionClaim } from "./kinds/permission-claim.ts";

const read = ["get", "list", "watch"] as const;
const all = [...read, "create", "update", "patch", "delete"] as const;
const withoutCreate = all.filter((verb) => verb !== "create");

/** Rules of every app cluster's account in its own cluster namespace: the static ClusterRole `klutch-binder`. */
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

/** Rules of the ClusterRole `klutch-bind-all`, which operators bind to people: every offered API may be bound (designs/0023). */
export const bindAllRules: readonly PolicyRule[] = [
  { apiGroups: [templateGroup], resources: ["apiserviceexporttemplates"], verbs: ["bind"] },
];

/**
 * Annotation on an export: the resources of claims that the app cluster's side rejected, as comma-separated `resource.group`. Other claims of
 * the export give rights.
 */
export const rejectedClaimsAnnotation = "klutch.anynines.com/rejected-permission-claims";

/** The part of an export that decides about rights. */
export type GrantedExport = Pick<APIServiceExport, "spec"> & {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> | undefined } | undefined;
  /** The API is no longer offered: existing objects may be served and deleted, but no new ones created. */
  readonly withdrawn?: boolean | undefined;
};

/** Returns the rules of one app cluster's account on the exported and claimed kinds, inside its service namespaces. */
export function exportRules(exports: readonly GrantedExport[]): readonly PolicyRule[] {
  const verbs = new Map<string, ReadonlySet<string>>();
  const add = (group: string, resource: string, more: readonly string[]): void => {
    const key = `${group}/${resource}`;
    verbs.set(key, new Set([...(verbs.get(key) ?? []), ...more]));
  };
  for (const granted of exports) {
    const { spec, withdrawn } = granted;
    add(spec.group, spec.names.plural, withdrawn === true ? withoutCreate : all);
    // Warnings about a claim's upstream object are shown on the claim.
    add("", "events", read);
    for (const claim of grantedClaims(granted)) add(claim.group ?? "", claim.resource, all);
  }
  return [...verbs.entries()]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, granted]) => {
      const [group = "", resource = ""] = key.split("/");
      return {
        apiGroups: [group],
        resources: [resource],
        verbs: all.filter((verb) => granted.has(verb)),
      };
    });
}

/**
 * The part of `exportRules` that an app cluster with consumer scope Cluster has in the whole provider cluster: never a kind of Kubernetes
 * itself, because Secrets, ConfigMaps and events of everybody else are of the same kind.
 */
export function clusterWideExportRules(exports: readonly GrantedExport[]): readonly PolicyRule[] {
  return exportRules(exports).filter(({ apiGroups = [] }) => !apiGroups.some(isBuiltInGroup));
}

/** The claims of an export that were not rejected. */
function grantedClaims({ spec, metadata }: GrantedExport): readonly PermissionClaim[] {
  const rejected = new Set((metadata?.annotations?.[rejectedClaimsAnnotation] ?? "").split(","));
  return (spec.permissionClaims ?? []).filter((claim) => !rejected.has(claimName(claim)));
}

/**
 * The value of the annotation for claims that are asked for and the answers to them; undefined when none is rejected. RBAC knows only
 * resources, so a resource is rejected when no accepted claim names it.
 */
export function rejectedClaims(
  asked: readonly PermissionClaim[],
  accepted: readonly PermissionClaim[],
): string | undefined {
  const taken = new Set(accepted.map(claimName));
  const rejected = asked.map(claimName).filter((name) => !taken.has(name));
  return rejected.length === 0 ? undefined : [...new Set(rejected)].toSorted().join(",");
}

function claimName({ resource, group = "" }: PermissionClaim): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Rules of the konnector in an app cluster, independent of bindings: the base ClusterRole. */
export const konnectorClusterRules: readonly PolicyRule[] = [
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    // RBAC cannot say which ones are created. Those of bound APIs may be changed by the binding's own role, that of bindings only by people.
    verbs: [...read, "create"],
  },
  // `patch` is for the finalizer that keeps a binding until its unbinding is finished, and for the pinned provider.
  { apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: [...read, "patch"] },
  { apiGroups: [bindGroup], resources: ["apiservicebindings/status"], verbs: ["get", "patch", "update"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: read },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** Rules of the konnector in its own namespace. */
export const konnectorNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: [...read, "create", "update", "patch"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "watch", "create", "update", "patch"],
  },
];

/** Form of the konnector's rules. */
export interface RuleOptions {
  /** For an agent of an earlier release, which watches all objects of a claimed resource whatever names a claim gives. Default false. */
  readonly isWide?: boolean | undefined;
}

/** More names have one watch and one rule for all objects, because each watch costs both sides (designs/0019). */
const mostWatched = 10;

/** The names in the app cluster that a claim is limited to, if they are few; undefined where all objects are watched. */
export function watchedNames({
  names = [],
}: {
  readonly names?: readonly string[] | undefined;
}): readonly string[] | undefined {
  const isNamed = names.length > 0 && names.length <= mostWatched && names.every(isDnsSubdomain);
  return isNamed ? names : undefined;
}

/** Returns the rules of the konnector for one bound API: the resource itself and those of the accepted claims. */
export function bindingRules(
  resource: { readonly group?: string | undefined; readonly resource: string },
  claims: readonly (AnsweredPermissionClaim | PermissionClaim)[],
  options: RuleOptions = {},
): readonly PolicyRule[] {
  const group = resource.group ?? "";
  const accepted = claims.filter((claim) => !("state" in claim) || claim.state === "Accepted");
  return [
    // `create` is for objects that only the provider has and that the app cluster adopts, `delete` for unbinding with policy Delete.
    { apiGroups: [group], resources: [resource.resource], verbs: all },
    { apiGroups: [group], resources: [`${resource.resource}/status`], verbs: ["get", "update", "patch"] },
    crdChanges(resource.resource, group),
    ...accepted.flatMap((claim) => claimRules(claim, options)),
  ];
}

/** Returns the rule for one CustomResourceDefinition, whose schema follows the provider's export. */
function crdChanges(resource: string, group: string): PolicyRule {
  return {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: [crdNameOf({ resource, group })],
    verbs: ["update", "patch"],
  };
}

function claimRules(claim: PermissionClaim, { isWide = false }: RuleOptions): readonly PolicyRule[] {
  const { resource, selector, update = {}, autoAdopt, autoDonate } = claim;
  const apiGroups = [claim.group ?? ""];
  const names = isWide ? undefined : watchedNames(selector ?? {});
  const only = names === undefined ? {} : { resourceNames: names };
  const isPayload = apiGroups[0] === "" && (resource === "secrets" || resource === "configmaps");
  const status: PolicyRule[] = isPayload
    ? []
    : [{ apiGroups, resources: [`${resource}/status`], ...only, verbs: ["get", "update", "patch"] }];
  if (selector?.owner !== "Consumer" || autoAdopt === true || autoDonate === true) {
    if (names === undefined) return [{ apiGroups, resources: [resource], verbs: all }, ...status];
    // RBAC does not see the name of an object that is created; the admission policy does.
    const creation = { apiGroups, resources: [resource], verbs: ["create"] };
    return [{ apiGroups, resources: [resource], ...only, verbs: withoutCreate }, creation, ...status];
  }
  // The consumer's own objects are only read, unless the claim names what the provider may change in them.
  const changes = [
    update.fields,
    update.labelsOnConsumerOwnedObjects,
    update.annotationsOnConsumerOwnedObjects,
  ];
  const mayChange = changes.some((list) => list !== undefined && list.length > 0);
  return [{ apiGroups, resources: [resource], ...only, verbs: mayChange ? [...read, "patch"] : read }];
}

/**
 * Rules of a konnector that runs in the provider cluster, in the namespace of its AppClusterBinding: Role `control-plane-connector`. Like every
 * app cluster's account it also has the ClusterRole `klutch-binder` there, which lets it read Secrets.
 */
export const controlPlaneConnectorRules: readonly PolicyRule[] = [
  { apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: all },
  { apiGroups: [bindGroup], resources: ["apiservicebindings/status"], verbs: ["get", "patch", "update"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: all },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** The part of `backendRules` by which it knows prices and calculates bills, for those who choose, budgets and the console (designs/0029). */
export const costRules: readonly PolicyRule[] = [
  // The operator's price list, and no other ConfigMap.
  { apiGroups: [""], resources: ["configmaps"], resourceNames: ["klutch-prices"], verbs: ["list", "watch"] },
  { apiGroups: ["apiextensions.crossplane.io"], resources: ["compositions"], verbs: ["list", "watch"] },
  {
    apiGroups: [dataservicesGroup, namespacedDataservicesGroup],
    resources: ["serviceinstances", "backups"],
    verbs: ["list", "watch"],
  },
  { apiGroups: [dataservicesGroup], resources: ["usageledgers"], verbs: ["list", "watch"] },
];

/** Rules of the backend in the control plane cluster, besides the rights that it grants, and those of control-plane mode. */
export const backendRules: readonly PolicyRule[] = [
  {
    apiGroups: [bindGroup],
    resources: [
      "apiserviceexportrequests",
      "apiserviceexports",
      "apiservicenamespaces",
      "clusterbindings",
      "grants",
    ],
    verbs: all,
  },
  // It makes one in each cluster namespace, and changes nothing in what operators write.
  { apiGroups: [bindGroup], resources: ["tenants"], verbs: [...read, "create"] },
  // Operators write them.
  { apiGroups: [bindGroup], resources: ["appclusters", "konnectorrollouts"], verbs: read },
  // It tells Tenants what was decided about them.
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
  // It asks who may bind what.
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  {
    apiGroups: [bindGroup],
    resources: [
      "apiserviceexportrequests/status",
      "apiserviceexports/status",
      "apiservicenamespaces/status",
      "appclusters/status",
      "clusterbindings/status",
      "konnectorrollouts/status",
      "tenants/status",
    ],
    verbs: ["get", "patch", "update"],
  },
  { apiGroups: [templateGroup], resources: ["apiserviceexporttemplates"], verbs: read },
  {
    apiGroups: [templateGroup],
    resources: ["apiserviceexporttemplates/status"],
    verbs: ["get", "patch", "update"],
  },
  ...costRules,
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: read },
  { apiGroups: [""], resources: ["namespaces"], verbs: [...read, "create", "patch", "update", "delete"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get", "create", "patch"] },
  // Those of app clusters, to see that an operator deleted one.
  { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: [binderName], verbs: ["list", "watch"] },
  // The account of an app cluster without any Grant is deleted.
  { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: [binderName], verbs: ["delete"] },
  { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  { apiGroups: [""], resources: ["resourcequotas"], verbs: ["get", "create", "patch"] },
  // With limits of tenants: to see their use, and to end them.
  {
    apiGroups: [""],
    resources: ["resourcequotas"],
    resourceNames: [tenantLimitsName],
    verbs: ["list", "watch", "delete"],
  },
  // Credentials of app clusters, whose names are the same in each cluster namespace.
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [kubeconfigKey, binderName],
    verbs: ["get", "patch"],
  },
  // RBAC does not see the name of an object that is created; the admission policy sees the namespace.
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "watch", "create", "update", "patch"],
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

/**
 * Rules that the backend needs besides `backendRules` to show the audit in the console (designs/0030). RBAC knows no fields, so the list of
 * Events is one of all Events: they are given only where the console is on.
 */
export const consoleRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["events"], verbs: ["list", "watch"] },
];

/**
 * Rules that the backend needs besides `backendRules` to serve AppClusterBindings. One of these may name a Secret of any namespace, so they are
 * given only where control-plane mode runs.
 */
export const controlPlaneModeRules: readonly PolicyRule[] = [
  { apiGroups: [bindGroup], resources: ["appclusterbindings"], verbs: [...read, "patch"] },
  { apiGroups: [bindGroup], resources: ["appclusterbindings/status"], verbs: ["get", "patch", "update"] },
  // By name only. A copy of another type must be deleted.
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "patch", "delete"] },
  // The konnectors, and their Role.
  { apiGroups: ["apps"], resources: ["deployments"], verbs: [...read, "create", "patch", "delete"] },
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: ["get", "create", "patch"] },
  // It may hand out only rights that it holds itself.
  ...controlPlaneConnectorRules,
];
