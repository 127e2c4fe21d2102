/**
 * ProviderConfigUsages: who uses a ProviderConfig. They belong to the managed resource and are beside it if it is namespaced, so garbage
 * collection removes them; Crossplane gives a provider no right to delete them.
 */
import { namespacedProviderConfigUsages, type ProviderConfigUsage, providerConfigUsages } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { isAlreadyExists, type KubeClient } from "@klutch/kube";
import { controllerReference } from "@klutch/kube-core";
import { bareConfigName, configKindOf, shownConfig } from "./reference.ts";

/**
 * Makes sure the usage exists, unless the managed resource is being deleted: a namespace that ends takes nothing new. `known` says that it
 * was made before in this process, so that no request is needed.
 */
export async function ensureUsage(
  client: KubeClient,
  managed: Managed,
  known: Set<string>,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { uid = "", name = "", namespace, deletionTimestamp } = managed.metadata;
  if (deletionTimestamp !== undefined) return;
  const config = shownConfig(managed);
  if (known.has(`${uid}/${config}`)) return;
  const { apiVersion, kind } = managed;
  const type = namespace === undefined ? providerConfigUsages : namespacedProviderConfigUsages;
  const usage: ProviderConfigUsage = {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: {
      name: uid,
      ...(namespace === undefined ? {} : { namespace }),
      labels: labelsOf(bareConfigName(managed)),
      ownerReferences: [controllerReference(managed)],
    },
    providerConfigRef: usedConfig(managed),
    resourceRef: { apiVersion, kind, name, uid },
  };
  try {
    await client.create(type, usage, options);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  known.add(`${uid}/${config}`);
}

/** As Crossplane's providers have it, where the name can be the value of a label. */
function labelsOf(config: string): Record<string, string> {
  const fits = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(config);
  return fits ? { "crossplane.io/provider-config": config } : {};
}

/** Cluster-scoped managed resources have one kind to name, so their usages do not say which. */
function usedConfig(managed: Managed): ProviderConfigUsage["providerConfigRef"] {
  const name = bareConfigName(managed);
  return managed.metadata.namespace === undefined ? { name } : { kind: configKindOf(managed), name };
}
