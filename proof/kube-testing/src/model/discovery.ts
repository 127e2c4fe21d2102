/** Raw requests: the version, and discovery of groups and resources. Everything else is 404. */
import type { RawRequest } from "@klutch/kube";
import type { ResourceTable } from "./resources.ts";
import { notServed } from "./status-errors.ts";

/** The version that the model follows; a test holds it against the pinned server, whose answers the model is compared with. */
const gitVersion = "v1.37.2";

const verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
const statusVerbs = ["get", "patch", "update"];

/** Answers a raw request. */
export function discover(resources: ResourceTable, request: RawRequest): unknown {
  if (request.method !== "GET") throw notServed();
  const parts = request.path.split("/").filter((part) => part !== "");
  const [root, group = "", version] = parts;
  if (root === "version" && parts.length === 1) {
    const [major = "", minor = ""] = gitVersion.slice(1).split(".");
    return { major, minor, gitVersion };
  }
  if (root === "api" && parts.length === 1) return { kind: "APIVersions", versions: ["v1"] };
  if (root === "api" && parts.length === 2) return resourceList(resources, "", group);
  if (root === "apis" && parts.length === 1) {
    const groups = [...new Set(resources.all().map(({ type }) => type.group))].filter((name) => name !== "");
    return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map((name) => groupOf(resources, name)) };
  }
  if (root === "apis" && parts.length === 2) return groupOf(resources, group);
  if (root === "apis" && parts.length === 3 && version !== undefined)
    return resourceList(resources, group, version);
  throw notServed();
}

function groupOf(resources: ResourceTable, name: string): object {
  const served = resources.all().filter(({ type }) => type.group === name);
  const names = [...new Set(served.map(({ type }) => type.version))];
  const versions = names.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  if (versions.length === 0) throw notServed();
  return { kind: "APIGroup", apiVersion: "v1", name, versions, preferredVersion: versions[0] };
}

function resourceList(resources: ResourceTable, group: string, version: string): object {
  const served = resources.all().filter(({ type }) => type.group === group && type.version === version);
  if (served.length === 0) throw notServed();
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: group === "" ? version : `${group}/${version}`,
    resources: served.flatMap(({ type, statusSubresource }) => {
      const { plural, kind, namespaced } = type;
      const main = { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
      const status = { ...main, name: `${plural}/status`, singularName: "", verbs: statusVerbs };
      return statusSubresource ? [main, status] : [main];
    }),
  };
}
