/**
 * Registers the key with which a konnector can come back. The konnector offers it in the status of its ClusterBinding, which only the
 * holder of a valid credential can write. The first key stays: a stolen credential cannot replace it. An operator lets the next one in
 * by removing the annotation from the cluster namespace, and shuts all out with the value `revoked`.
 */
import {
  type ClusterBinding,
  clusterBindings,
  isPublicKey,
  renewalKeyAnnotation,
  renewalUrlOf,
} from "@klutch/api";
import { type KubeObject, namespaces, refOfObject } from "@klutch/kube-core";
import { type KubeClient } from "@klutch/kube";

/** Tells the konnector where it can come back, and registers the key that it offers, if there is none yet. */
export async function keepRenewal(
  client: KubeClient,
  binding: ClusterBinding,
  namespace: KubeObject | undefined,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  if (renewalUrlOf(binding.spec.serviceProviderSpec) !== url) {
    const patch = { spec: { serviceProviderSpec: { renewal: { url } } } };
    await client.mergePatch(clusterBindings, refOfObject(binding), patch, { signal });
  }
  const offered = binding.status?.renewalKey;
  if (!isPublicKey(offered) || namespace === undefined || isDecided(namespace)) return;
  const name = namespace.metadata.name ?? "";
  const { metadata } = await client.get<KubeObject>(namespaces, { name }, { signal });
  if (isDecided({ metadata })) return;
  const annotations = { [renewalKeyAnnotation]: offered };
  const patch = { metadata: { resourceVersion: metadata.resourceVersion, annotations } };
  await client.mergePatch(namespaces, { name }, patch, { signal });
}

function isDecided({ metadata }: Pick<KubeObject, "metadata">): boolean {
  return (
    metadata.deletionTimestamp !== undefined || (metadata.annotations?.[renewalKeyAnnotation] ?? "") !== ""
  );
}
