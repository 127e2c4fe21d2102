/** The identity of an app cluster. */
import { clusterIdentityNamespace } from "@klutch/api";
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { Backoff } from "@klutch/kube-runtime";
import type { RuntimeDependencies } from "./clusters.ts";
import { WrongClusterError } from "./errors.ts";

/** UID of kube-system; asks once. Throws what the app cluster answered. */
export async function askClusterUid(client: KubeClient, signal: AbortSignal): Promise<string> {
  const kubeSystem = await client.get<DynamicObject>(
    namespaces,
    { name: clusterIdentityNamespace },
    { signal },
  );
  return kubeSystem.metadata.uid ?? "";
}

/** UID of kube-system; waits until the app cluster answers. Throws when aborted first. */
export async function clusterUid(
  client: KubeClient,
  { clock, random, logger }: RuntimeDependencies,
  signal: AbortSignal,
): Promise<string> {
  const backoff = new Backoff({ baseMs: 200, capMs: 10_000, random });
  for (;;) {
    try {
      return await askClusterUid(client, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn("the app cluster does not answer, trying again", { error });
      await clock.sleep(backoff.next(), { signal });
    }
  }
}

/** Throws `WrongClusterError` when the app cluster is another one than `uid` names. */
export async function confirmCluster(client: KubeClient, uid: string, signal: AbortSignal): Promise<void> {
  const kubeSystem = await client.find<DynamicObject>(
    namespaces,
    { name: clusterIdentityNamespace },
    { signal },
  );
  if (kubeSystem?.metadata.uid !== uid) throw new WrongClusterError(uid, kubeSystem?.metadata.uid);
}
