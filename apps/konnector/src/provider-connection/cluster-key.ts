/** The key of this app cluster, in a Secret of the agent's namespace; made when it is first needed, never replaced. */
import { clusterKeyDataKey, clusterKeySecret, clusterKeySecretObject, newClusterKey } from "@klutch/api";
import { type DynamicObject, secrets, secretText } from "@klutch/kube-core";
import { findOrCreate } from "@klutch/kube";
import type { ConsumerCluster } from "../clusters.ts";

/** The private key in PEM; undefined when there is none. */
export async function readClusterKey(
  { client }: Pick<ConsumerCluster, "side" | "client">,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { namespace, name: clusterKeySecret };
  return secretText(await client.find<DynamicObject>(secrets, ref, { signal }), clusterKeyDataKey);
}

/** Returns the private key in PEM, created with its Secret when there is none. Undefined when the existing Secret holds none. */
export async function ensureClusterKey(
  { client }: Pick<ConsumerCluster, "side" | "client">,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { namespace, name: clusterKeySecret };
  const make = (): DynamicObject => clusterKeySecretObject(namespace, newClusterKey());
  return secretText(await findOrCreate(client, secrets, ref, make, { signal }), clusterKeyDataKey);
}
