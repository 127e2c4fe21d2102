/** The konnector's rights in an app cluster, compared with what its bindings need. No I/O. */
import {
  type APIServiceBinding,
  bindingRules,
  boundApiRoleManifests,
  checkApiName,
  consumerNamespace,
  konnectorClusterRules,
  konnectorManifests,
  konnectorName,
  konnectorNamespaceRules,
  type Manifest,
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

/** Roles and role bindings that Klutch itself writes for these bindings. */
export function expectedManifests(bindings: readonly APIServiceBinding[]): readonly Manifest[] {
  const base = konnectorManifests({ image: "" }).filter(({ apiVersion }) => apiVersion.startsWith("rbac."));
  // The base role comes last: it may take the place of one that gives everything.
  return [...bindings.flatMap(roleManifests), ...base];
}

/** The konnector's role and role binding for a binding, by its own answers, and the roles of people; none for a name that no provider may offer. */
export function roleManifests(binding: APIServiceBinding): readonly Manifest[] {
  const { name = "" } = binding.metadata;
  const rules = rulesOf(binding);
  return rules.length === 0 ? [] : boundApiRoleManifests(name, rules);
}

function rulesOf({ metadata, spec }: APIServiceBinding): readonly PolicyRule[] {
  const [resource = "", ...group] = (metadata.name ?? "").split(".");
  if (checkApiName(group.join("."), resource) !== undefined) return [];
  return bindingRules({ resource, group: group.join(".") }, spec.permissionClaims ?? []);
}

/** Rights that no binding needs, as `delete on secrets`. Wildcard rules are left to `wildcardsIn`. */
export function surplusOf(grant: Grant, bindings: readonly APIServiceBinding[]): readonly string[] {
  const needed = [
    ...konnectorClusterRules,
    ...bindings.flatMap(rulesOf),
    ...(grant.namespace === consumerNamespace ? konnectorNamespaceRules : []),
  ];
  const urls = grant.rules.flatMap(({ nonResourceURLs = [], verbs }) =>
    nonResourceURLs.map((url) => `${verbs.join(", ")} on URL ${url}`),
  );
  const listable = grant.rules.filter((rule) => !isWildcard(rule));
  return [...urls, ...summary(rightsIn(listable).filter((right) => !isCovered(needed, right)))];
}

/** Rights that the bindings need and nothing gives. */
export function gapsOf(grants: readonly Grant[], bindings: readonly APIServiceBinding[]): readonly string[] {
  const everywhere = grants.filter(({ namespace }) => namespace === undefined).flatMap(({ rules }) => rules);
  const own = grants.filter(({ namespace }) => namespace === consumerNamespace).flatMap(({ rules }) => rules);
  const missing = (needed: readonly PolicyRule[], given: readonly PolicyRule[]): readonly string[] =>
    summary(rightsIn(needed).filter((right) => !isCovered(given, right)));
  return [
    ...missing([...konnectorClusterRules, ...bindings.flatMap(rulesOf)], everywhere),
    ...missing(konnectorNamespaceRules, [...everywhere, ...own]).map(
      (text) => `${text} in namespace ${consumerNamespace}`,
    ),
  ];
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
