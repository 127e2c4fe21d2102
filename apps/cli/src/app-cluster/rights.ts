/** The konnector's rights in an app cluster, compared with what its bindings need. No I/O. */
import {
  type AnsweredPermissionClaim,
  bindingRules,
  boundApiRoleManifests,
  checkApiName,
  consumerNamespace,
  konnectorClusterRules,
  konnectorManifests,
  konnectorName,
  konnectorNamespaceRules,
  type Manifest,
  resourceNamed,
} from "@klutch/api";
import type { PolicyRule } from "@klutch/kube-core";
import { describeRule } from "./rule-text.ts";

/** A role that something binds to the konnector's account. */
export interface Grant {
  /** `ClusterRole x`, `Role ns/x`. */
  readonly role: string;
  /** `ClusterRoleBinding y`, `RoleBinding ns/y`. */
  readonly binding: string;
  /** Namespace in which the grant holds; undefined means everywhere. */
  readonly namespace?: string | undefined;
  readonly rules: readonly PolicyRule[];
}

/** One right: a verb on a resource. */
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  /** The only object it holds for. */
  readonly only?: string | undefined;
}

/** A bound API, or one that is about to be bound, with the answers to its claims. */
export interface BoundApi {
  readonly name: string;
  readonly claims: readonly AnsweredPermissionClaim[];
  /** See `RuleOptions`. */
  readonly isWide?: boolean | undefined;
}

/** Roles and role bindings that Klutch itself writes for these APIs. */
export function expectedManifests(apis: readonly BoundApi[]): readonly Manifest[] {
  const base = konnectorManifests({ image: "" }).filter(({ apiVersion }) => apiVersion.startsWith("rbac."));
  // The base role comes last: it may take the place of one that gives everything.
  return [...apis.flatMap(roleManifests), ...base];
}

/** The konnector's role and role binding for an API, and the roles of people; none for a name that no provider may offer. */
export function roleManifests({ name, claims, isWide }: BoundApi): readonly Manifest[] {
  const resource = boundResource(name);
  return resource === undefined ? [] : boundApiRoleManifests(resource, claims, { isWide });
}

function rulesOf({ name, claims, isWide }: BoundApi): readonly PolicyRule[] {
  const resource = boundResource(name);
  return resource === undefined ? [] : bindingRules(resource, claims, { isWide });
}

/** The resource that a binding of this name binds; undefined for a name that no provider may offer. */
export function boundResource(
  name: string,
): { readonly resource: string; readonly group: string } | undefined {
  const { resource, group } = resourceNamed(name);
  return checkApiName(group, resource) === undefined ? { resource, group } : undefined;
}

/** Rights that no API needs, as `delete on secrets`. Wildcard rules are left to `wildcardsIn`. */
export function surplusOf(grant: Grant, apis: readonly BoundApi[]): readonly string[] {
  const needed = [
    ...konnectorClusterRules,
    ...apis.flatMap(rulesOf),
    ...(grant.namespace === consumerNamespace ? konnectorNamespaceRules : []),
  ];
  const urls = grant.rules.flatMap(({ nonResourceURLs = [], verbs }) =>
    nonResourceURLs.map((url) => `${verbs.join(", ")} on URL ${url}`),
  );
  const listable = grant.rules.filter((rule) => !isWildcard(rule));
  return [...urls, ...summary(rightsIn(listable).filter((right) => !isCovered(needed, right)))];
}

/** Rights that the APIs need and nothing gives. */
export function gapsOf(grants: readonly Grant[], apis: readonly BoundApi[]): readonly string[] {
  return [
    ...lackOf([...konnectorClusterRules, ...apis.flatMap(rulesOf)], grants),
    ...lackOf(konnectorNamespaceRules, grants, consumerNamespace),
  ];
}

/** Returns the rights of one API that no grant gives. */
export function lackOfApi(api: BoundApi, grants: readonly Grant[]): readonly string[] {
  return lackOf(rulesOf(api), grants);
}

/** Returns the rights in the rules that no grant gives everywhere, or in the namespace. */
export function lackOf(
  needed: readonly PolicyRule[],
  grants: readonly Grant[],
  place?: string,
): readonly string[] {
  const given = grants.filter(({ namespace }) => namespace === undefined || namespace === place);
  const rules = given.flatMap((grant) => grant.rules);
  const where = place === undefined ? "" : ` in namespace ${place}`;
  return summary(rightsIn(needed).filter((right) => !isCovered(rules, right))).map(
    (text) => `${text}${where}`,
  );
}

/** Rules with `*`, which give more than anybody can list. */
export function wildcardsIn(rules: readonly PolicyRule[]): readonly string[] {
  return rules
    .filter((rule) => isWildcard(rule) && (rule.resources ?? []).length > 0)
    .map((rule) =>
      (rule.apiGroups ?? []).includes("*")
        ? `${rule.verbs.join(", ")} on ${(rule.resources ?? []).join(", ")} of all API groups`
        : describeRule(rule),
    );
}

const isWildcard = ({ apiGroups = [], resources = [], verbs }: PolicyRule): boolean =>
  [...apiGroups, ...resources, ...verbs].some((part) => part.includes("*"));

/** Returns true if both lists of rules give the same rights. */
export function sameRights(left: readonly PolicyRule[], right: readonly PolicyRule[]): boolean {
  const inner = (one: readonly PolicyRule[], other: readonly PolicyRule[]): boolean =>
    rightsIn(one).every((each) => isCovered(other, each));
  return inner(left, right) && inner(right, left);
}

/** Returns true if the subjects include the konnector's account. Groups of all accounts are not Klutch's to judge. */
export function bindsKonnector(
  subjects: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string | undefined;
  }[],
): boolean {
  return subjects.some(
    ({ kind, name, namespace }) =>
      (kind === "ServiceAccount" && name === konnectorName && namespace === consumerNamespace) ||
      (kind === "User" && name === `system:serviceaccount:${consumerNamespace}:${konnectorName}`) ||
      (kind === "Group" && name === `system:serviceaccounts:${consumerNamespace}`),
  );
}

function rightsIn(rules: readonly PolicyRule[]): readonly Right[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb): Right[] =>
          resourceNames.length === 0
            ? [{ group, resource, verb }]
            : resourceNames.map((only) => ({ group, resource, verb, only })),
        ),
      ),
    ),
  );
}

function isCovered(rules: readonly PolicyRule[], right: Right): boolean {
  const has = (list: readonly string[] | undefined, value: string): boolean =>
    list !== undefined && (list.includes("*") || list.includes(value));
  return rules.some(
    (rule) =>
      has(rule.apiGroups, right.group) &&
      (has(rule.resources, right.resource) || has(rule.resources, right.resource.replace(/^[^/]+/, "*"))) &&
      has(rule.verbs, right.verb) &&
      (rule.resourceNames === undefined ||
        rule.resourceNames.length === 0 ||
        (right.only !== undefined && rule.resourceNames.includes(right.only))),
  );
}

/** Prints one line for each resource, and for each object that a right is limited to. */
function summary(rights: readonly Right[]): readonly string[] {
  const verbs = new Map<string, { readonly right: Right; readonly verbs: Set<string> }>();
  for (const right of rights) {
    const key = JSON.stringify([right.group, right.resource, right.only]);
    const entry = verbs.get(key) ?? { right, verbs: new Set<string>() };
    entry.verbs.add(right.verb);
    verbs.set(key, entry);
  }
  return [...verbs.values()].map(({ right, verbs: some }) =>
    right.group === "*"
      ? `${[...some].join(", ")} on ${right.resource} of all API groups`
      : describeRule({
          apiGroups: [right.group],
          resources: [right.resource],
          resourceNames: right.only === undefined ? [] : [right.only],
          verbs: [...some],
        }),
  );
}
