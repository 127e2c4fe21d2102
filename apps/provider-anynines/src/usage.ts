/**
 * ProviderConfigUsages: who uses a ProviderConfig. They belong to the managed resource, so garbage
 * collection removes them; Crossplane gives a provider no right to delete them.
 */
import { type ProviderConfigUsage, providerConfigUsages } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { isAlreadyExists, type KubeClient } from "@klutch/kube";
import { controllerReference } from "@klutch/kube-core";

/**
 * Makes sure the usage exists, unless the managed resource is being deleted. `known` says that it was made before in this process, so that
 * no request is needed.
 */
export async function ensureUsage(
  client: KubeClient,
  managed: Managed,
  known: Set<string>,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { uid = "", name = "", deletionTimestamp } = managed.metadata;
  if (deletionTimestamp !== undefined) return;
  const config = managed.spec.providerConfigRef?.name ?? "default";
  if (known.has(`${uid}/${config}`)) return;
  const { apiVersion, kind } = managed;
  const usage: ProviderConfigUsage = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfigUsage",
    metadata: {
      name: uid,
      labels: { "crossplane.io/provider-config": config },
      ownerReferences: [controllerReference(managed)],
    },
    providerConfigRef: { name: config },
    resourceRef: { apiVersion, kind, name, uid },
  };
  try {
    await client.create(providerConfigUsages, usage, options);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  known.add(`${uid}/${config}`);
}
