/** Finds out whether the app cluster already serves an API of this name that did not come from a provider. */
import { discoverResource, isNotFound, type KubeClient } from "@klutch/kube";
import { recordsAt } from "@klutch/kube-core";

/** Most versions of a group that are requested. */
const versionLimit = 32;

/**
 * The `group/version` that serves the resource; undefined when none does. Asked while no CustomResourceDefinition of this name exists, so
 * the API comes from an aggregated API server.
 */
export async function servedElsewhere(
  client: KubeClient,
  { group, plural }: { readonly group: string; readonly plural: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const version of await versionsOf(client, group, signal)) {
    const found = await discoverResource(client, { group, version, plural }, { signal });
    if (found !== undefined) return `${group}/${version}`;
  }
  return undefined;
}

async function versionsOf(
  client: KubeClient,
  group: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    const answer = await client.request({ method: "GET", path: `/apis/${group}`, signal });
    return recordsAt(answer, "versions")
      .map(({ version }) => version)
      .filter((version) => typeof version === "string")
      .slice(0, versionLimit);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
