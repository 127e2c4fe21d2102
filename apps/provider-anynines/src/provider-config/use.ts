/**
 * Who uses a ProviderConfig: the managed resources that name it. Not its ProviderConfigUsages, which come later than the resource and
 * which the provider may not delete.
 */
import type { ProviderConfig } from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isNotFound, type KubeClient, listPages } from "@klutch/kube";
import { keyOf, refOf } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { configNameOf } from "./reference.ts";

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

/** Whether a managed resource names the ProviderConfig now: the API server is asked, because caches of several kinds are not of one time. */
export async function hasUsers(
  client: Pick<KubeClient, "list">,
  caches: readonly Pick<UserCache, "type">[],
  key: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<boolean> {
  // Only what is beside it can name a namespaced one.
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
 * Nothing new is made through a ProviderConfig that is being deleted: it could never go, and what is made after its users were counted could
 * not be deleted any more. Throws `ExternalError`.
 */
export function refuseEnding(config: ProviderConfig | undefined): void {
  if (config?.metadata.deletionTimestamp === undefined) return;
  throw new ExternalError(`${config.kind} ${keyOf(config)} is being deleted: nothing new is made with it`, {
    reason: "NoBroker",
  });
}
