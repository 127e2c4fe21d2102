/** The key of this app cluster, in a Secret of the agent's namespace; made when it is first needed, never replaced. */
import { clusterKeyDataKey, clusterKeySecret, clusterKeySecretObject, newClusterKey } from "@klutch/api";
import { type DynamicObject, secrets, secretText } from "@klutch/kube-core";
import { isAlreadyExists } from "@klutch/kube";
import type { ConsumerCluster } from "../clusters.ts";

/** The private key in PEM; undefined when there is none. */
export async function readClusterKey(
  { client }: ConsumerCluster,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { namespace, name: clusterKeySecret };
  return secretText(await client.find<DynamicObject>(secrets, ref, { signal }), clusterKeyDataKey);
}

/** The private key in PEM, made when there is none. */
export async function ensureClusterKey(
  consumer: ConsumerCluster,
  namespace: string,
  signal: AbortSignal,
): Promise<string> {
  const present = await readClusterKey(consumer, namespace, signal);
  if (present !== undefined) return present;
  const key = newClusterKey();
  try {
    await consumer.client.create(secrets, clusterKeySecretObject(namespace, key), { signal });
    return key;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return (await readClusterKey(consumer, namespace, signal)) ?? key;
  }
}
