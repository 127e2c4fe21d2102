/** Reads the rights of an account from the API server's SelfSubjectRulesReview, and evaluates those rules. */
import { type AccessQuestion, objectOfType } from "@klutch/kube-testing";
import { type ClusterConfig, createKubeClient, type KubeClient } from "@klutch/kube";
import { type DynamicObject, isRecord, listAt, recordsAt, type ResourceType } from "@klutch/kube-core";

/** One rule of RBAC as the review answers it. */
export interface Rule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  readonly names: readonly string[];
}

/** All rights of one account in one place. */
export interface Rights {
  readonly rules: readonly Rule[];
  /** Paths that are no resources. */
  readonly urls: readonly { readonly verbs: readonly string[]; readonly paths: readonly string[] }[];
}

/** A resource or subresource that the server serves. */
export interface Served {
  readonly group: string;
  /** `pods` or `pods/exec`. */
  readonly resource: string;
  readonly verbs: readonly string[];
}

const selfSubjectRulesReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "selfsubjectrulesreviews",
  kind: "SelfSubjectRulesReview",
  namespaced: false,
};

/** No namespace has this name, so rights in it hold in the whole cluster. */
const nowhere = "no-such-namespace";

/** Rights of `user` in the namespace; without one those in the whole cluster. Throws when the server does not know all. */
export async function rightsOf(config: ClusterConfig, user: string, namespace?: string): Promise<Rights> {
  const impersonate = { user, groups: [] };
  await using client = createKubeClient({ ...config, impersonate }, { flowControl: false });
  const spec = { namespace: namespace ?? nowhere };
  const { status } = await client.create<DynamicObject>(
    selfSubjectRulesReviews,
    objectOfType(selfSubjectRulesReviews, {}, { spec }),
  );
  if (!isRecord(status) || status["incomplete"] === true) throw new Error(`no complete rules of ${user}`);
  return {
    rules: recordsAt(status, "resourceRules").map((rule) => ({
      verbs: textsAt(rule, "verbs"),
      groups: textsAt(rule, "apiGroups"),
      resources: textsAt(rule, "resources"),
      names: textsAt(rule, "resourceNames"),
    })),
    urls: recordsAt(status, "nonResourceRules").map((rule) => ({
      verbs: textsAt(rule, "verbs"),
      paths: textsAt(rule, "nonResourceURLs"),
    })),
  };
}

/** Returns true if the rules allow it, as RBAC evaluates them. */
export function rulesAllow(
  rules: readonly Rule[],
  { verb, group, resource, name = "" }: AccessQuestion,
): boolean {
  const has = (list: readonly string[], one: string): boolean => list.includes("*") || list.includes(one);
  return rules.some(
    (rule) =>
      has(rule.verbs, verb) &&
      has(rule.groups, group) &&
      covers(rule.resources, resource) &&
      (rule.names.length === 0 || rule.names.includes(name)),
  );
}

/** Returns true if a rule's list of resources covers this one. */
export function covers(resources: readonly string[], resource: string): boolean {
  const [, subresource] = resource.split("/");
  const everySuch = subresource === undefined ? [] : [`*/${subresource}`];
  return ["*", resource, ...everySuch].some((one) => resources.includes(one));
}

/** A resource with the path of each of its versions, without its name. */
export interface Discovered extends Served {
  readonly paths: readonly string[];
}

/** Returns everything that the server serves, all versions of a resource together. */
export async function discover(client: KubeClient): Promise<readonly Discovered[]> {
  const get = (path: string): Promise<unknown> => client.request({ method: "GET", path });
  const versions = recordsAt(await get("/apis"), "groups").flatMap((group) =>
    recordsAt(group, "versions").map((version) => ({
      group: String(group["name"]),
      path: `/apis/${String(version["groupVersion"])}`,
    })),
  );
  const found = new Map<string, Discovered>();
  for (const { group, path } of [{ group: "", path: "/api/v1" }, ...versions]) {
    for (const one of recordsAt(await get(path), "resources")) {
      const resource = String(one["name"]);
      const known = found.get(`${resource}.${group}`);
      const verbs = [...new Set([...(known?.verbs ?? []), ...textsAt(one, "verbs")])];
      found.set(`${resource}.${group}`, { group, resource, verbs, paths: [...(known?.paths ?? []), path] });
    }
  }
  return [...found.values()];
}

function textsAt(value: unknown, field: string): readonly string[] {
  return listAt(value, field).map(String);
}
