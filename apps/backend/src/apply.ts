/** Makes objects what they should be, with one field manager and no needless write. */
import { type KubeClient } from "@klutch/kube";
import { containsEqualLists, keyOf, type KubeObject, type ResourceType } from "@klutch/kube-core";
import type { Recent } from "./recent.ts";

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
  return applyOwn(client, type, object, options);
}

function applyOwn<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: KubeObject,
  options: { readonly signal: AbortSignal },
): Promise<T> {
  return client.apply<T>(type, object, { ...options, fieldManager: backendFieldManager, force: true });
}

/** Options of work that repeats. */
export interface RepeatOptions {
  readonly signal: AbortSignal;
  /** Knows what need not be asked for now. Default: the cluster is asked. */
  readonly recent?: Recent | undefined;
}

/** Does the same as `ensure`, at most once in a while. */
export async function keep(
  client: KubeClient,
  type: ResourceType,
  object: KubeObject,
  { signal, recent }: RepeatOptions,
): Promise<void> {
  const [name, state] = [recentName(type, keyOf(object)), JSON.stringify(object)];
  if (recent?.has(name, state) === true) return;
  const isOther = recent?.has(name) === true;
  // Also a write that fails may have had an effect.
  recent?.set(name, undefined);
  if (isOther) await applyOwn(client, type, object, { signal });
  else await ensure(client, type, object, { signal });
  recent?.set(name, state);
}

/** Deletes an object of no namespace if it exists, and looks for it at most once in a while. */
export async function keepAway(
  client: KubeClient,
  type: ResourceType,
  name: string,
  { signal, recent }: RepeatOptions,
): Promise<void> {
  if (recent?.has(recentName(type, name), "") === true) return;
  const surplus = await client.find(type, { name }, { signal });
  if (surplus !== undefined) await client.delete(type, { name }, { signal });
  recent?.set(recentName(type, name), "");
}

function recentName({ plural }: ResourceType, key: string): string {
  return `${plural} ${key}`;
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
