/** Decides how the objects of one API are kept apart on the provider. */
import type { APIServiceExportSpec } from "@klutch/api";
import { discoverResource, type KubeClient } from "@klutch/kube";
import { type Isolation, syncedVersion } from "@klutch/sync";

/** The isolation that is in force. */
export interface IsolationInForce {
  readonly isolation: Isolation;
  /** Set while the provider does not serve the kind: the answer may change. */
  readonly requeueAfterMs?: number | undefined;
}

const unknownRetryMs = 5_000;

/**
 * Isolation Namespaced needs a kind that is namespaced on the provider. Backends of the other implementation write it into exports of
 * cluster-scoped kinds as well, and its agent prefixes their names all the same; so that naming is in force for them.
 */
export async function isolationInForce(
  client: KubeClient,
  spec: APIServiceExportSpec,
  signal: AbortSignal,
): Promise<IsolationInForce> {
  const { scope, clusterScopedIsolation: wanted = "Prefixed", group, names } = spec;
  if (scope === "Namespaced" || wanted !== "Namespaced") return { isolation: wanted };
  const query = { group, version: syncedVersion(spec)?.name, plural: names.plural };
  const found = await discoverResource(client, query, { signal });
  if (found === undefined) return { isolation: wanted, requeueAfterMs: unknownRetryMs };
  return { isolation: found.namespaced ? wanted : "Prefixed" };
}
