/** Discovery of the resources that a cluster serves. */
import { isRecord, type KubeObject, recordsAt, type ResourceType, valueAt } from "@klutch/kube-core";
import { isNotFound } from "./errors.ts";
import type { KubeClient } from "./types.ts";

/** Search criteria for a resource. */
export interface ResourceQuery {
  readonly group: string;
  /** Default: the group's preferred version. */
  readonly version?: string | undefined;
  readonly kind?: string | undefined;
  readonly plural?: string | undefined;
}

/** Asks the server's discovery for one resource; undefined when it is not served. */
export async function discoverResource(
  client: KubeClient,
  query: ResourceQuery,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<ResourceType | undefined> {
  try {
    const version = query.version ?? (await preferredVersion(client, query.group, options));
    const path = query.group === "" ? `/api/${version}` : `/apis/${query.group}/${version}`;
    const answer = await client.request({ method: "GET", path, ...options });
    for (const item of recordsAt(answer, "resources")) {
      // Subresources are listed beside their resources, as `widgets/status`.
      const isSubresource = query.plural?.includes("/") ?? false;
      if (String(item["name"]).includes("/") !== isSubresource) continue;
      if (item["kind"] !== query.kind && item["name"] !== query.plural) continue;
      const plural = String(item["name"]);
      return {
        group: query.group,
        version,
        plural,
        kind: String(item["kind"]),
        namespaced: item["namespaced"] === true,
      };
    }
    return undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function preferredVersion(
  client: KubeClient,
  group: string,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<string> {
  if (group === "") return "v1";
  const answer = await client.request({ method: "GET", path: `/apis/${group}`, ...options });
  const preferred = valueAt(answer, "preferredVersion");
  return isRecord(preferred) ? String(preferred["version"]) : "v1";
}

/** The resource that a CustomResourceDefinition serves: `version`, or its first served one. Undefined when none is served. */
export function resourceTypeOf(crd: KubeObject, version?: string): ResourceType | undefined {
  const { spec } = crd;
  if (!isRecord(spec) || !isRecord(spec["names"]) || !Array.isArray(spec["versions"])) return undefined;
  const served = spec["versions"].filter(isRecord).filter((item) => item["served"] === true);
  const chosen = served.find((item) => version === undefined || item["name"] === version);
  if (chosen === undefined) return undefined;
  return {
    group: String(spec["group"]),
    version: String(chosen["name"]),
    plural: String(spec["names"]["plural"]),
    kind: String(spec["names"]["kind"]),
    namespaced: spec["scope"] === "Namespaced",
  };
}
