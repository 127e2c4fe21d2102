/**
 * Who uses a ProviderConfig: the managed resources that name it. Not its ProviderConfigUsages, which come later than the resource and
 * which the provider may not delete.
 */
import {
  namespacedProviderConfigUsages,
  type ProviderConfig,
  type ProviderConfigUsage,
  providerConfigUsages,
} from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isAlreadyExists, isNotFound, type KubeClient, listPages } from "@klutch/kube";
import { controllerReference, keyOf, refOf } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { bareConfigName, configKindOf, configNameOf, shownConfig } from "./reference.ts";

/** A cache of one kind of managed resources; it has the index `usersIndex`. */
export type UserCache = Pick<Informer<Managed>, "type" | "byIndex" | "onChange">;

/** Index of the managed resources of a kind by the ProviderConfig that they name. */
export const usersIndex = "usedConfig";

/** For `usersIndex`: the key of the ProviderConfig. */
export function usedConfigs(managed: Managed): readonly string[] {
  return [configNameOf(managed)];
}

/** The managed resources that name the ProviderConfig, as far as the caches show. */
export function cachedUsers(caches: readonly UserCache[], key: string): readonly Managed[] {
  return caches.flatMap((cache) => cache.byIndex(usersIndex, key));
}

/** Asks the API server whether a managed resource names the ProviderConfig now, because caches of several kinds show different times. */
export async function hasUsers(
  client: Pick<KubeClient, "list">,
  caches: readonly Pick<UserCache, "type">[],
  key: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<boolean> {
  // Only resources of its own namespace can name a namespaced one.
  const { namespace } = refOf(key);
  const isUsedBy = async (type: UserCache["type"]): Promise<boolean> => {
    for await (const { items } of listPages<Managed>(client, type, { namespace, signal }))
      if (items.some((managed) => usedConfigs(managed).includes(key))) return true;
    return false;
  };
  for (const { type } of caches) {
    try {
      if (await isUsedBy(type)) return true;
    } catch (error) {
      // Of a kind that is not served there is nothing.
      if (!isNotFound(error)) throw error;
    }
  }
  return false;
}

/**
 * Nothing new is made through a ProviderConfig that is being deleted: it could never go, and a resource created after its users were counted could
 * not be deleted any more. Throws `ExternalError`.
 */
export function refuseEnding(config: ProviderConfig | undefined): void {
  if (config?.metadata.deletionTimestamp === undefined) return;
  throw new ExternalError(`${config.kind} ${keyOf(config)} is being deleted: nothing new is made with it`, {
    reason: "NoBroker",
  });
}

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
