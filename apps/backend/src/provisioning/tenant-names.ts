/** Names of a tenant for people, as annotations of its ClusterBinding, where kubectl shows them. They are shown, and never compared. */
import { boundByAnnotation, type ClusterBinding, clusterBindings, clusterNameAnnotation } from "@klutch/api";
import { refOfObject } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";

/** Writes the names of the last login. A name that it did not bring stays, because existing plugins send none. */
export async function rememberNames(
  client: KubeClient,
  binding: ClusterBinding,
  names: { readonly clusterName?: string | undefined; readonly displayName?: string | undefined },
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const present = binding.metadata.annotations ?? {};
  const changes = [
    [clusterNameAnnotation, names.clusterName] as const,
    [boundByAnnotation, names.displayName] as const,
  ].filter(([key, name]) => name !== undefined && present[key] !== name);
  if (changes.length === 0) return;
  const patch = { metadata: { annotations: Object.fromEntries(changes) } };
  await client.mergePatch(clusterBindings, refOfObject(binding), patch, options);
}
