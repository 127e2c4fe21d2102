/** Makes objects what they should be, with one field manager and no needless write. */
import { type KubeClient } from "@klutch/kube";
import { containsEqualLists, type KubeObject, type ResourceType } from "@klutch/kube-core";

/** Field manager of the backend's own objects. */
export const backendFieldManager = "klutch-backend";

/** Applies `object` unless the live one already has all of it. Gives back what the cluster has. */
export async function ensure<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: KubeObject,
  options: { readonly signal: AbortSignal },
): Promise<T> {
  const { name = "", namespace } = object.metadata;
  const present = await client.find<T>(
    type,
    { name, ...(namespace === undefined ? {} : { namespace }) },
    options,
  );
  if (present !== undefined && containsEqualLists(withRules(present), object)) return present;
  return client.apply<T>(type, object, { ...options, fieldManager: backendFieldManager, force: true });
}

/** Servers give back a role without rules with null in their place. */
function withRules(present: object): object {
  return "rules" in present && present.rules === null ? { ...present, rules: [] } : present;
}

/** Writes the status unless it is already there. */
export async function ensureStatus<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
  status: Readonly<Record<string, unknown>>,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  if (containsEqualLists(object.status ?? {}, status)) return;
  const { name = "", namespace, resourceVersion } = object.metadata;
  await client.mergePatch(
    type,
    { name, ...(namespace === undefined ? {} : { namespace }) },
    { metadata: { resourceVersion }, status },
    { ...options, subresource: "status" },
  );
}
