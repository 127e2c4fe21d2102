/** Reads an object of which a cache keeps no content. */
import { isNotFound, type KubeClient } from "@klutch/kube";
import { type DynamicObject, keyOfRef, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import { StaleCacheError } from "../errors.ts";
import type { Cached } from "./store.ts";

/**
 * The object in the version that `kept` is of. Throws `StaleCacheError` when there is another one, or none. The cache shows a newer one
 * from then on: its event may be long on its way, or lost with a connection that is dead unnoticed.
 */
export async function readLive(
  { client, type, ref, kept, cache }: LiveRead,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const found = await client.find<DynamicObject>(type, ref, { signal });
  if (found !== undefined) {
    if (found.metadata.resourceVersion === kept.metadata.resourceVersion) return found;
    cache.wrote(found);
  }
  throw new StaleCacheError(`${type.kind} ${keyOfRef(ref)}`);
}

/** Object to read, and its cached state. */
export interface LiveRead {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly ref: ObjectRef;
  readonly kept: Cached;
  readonly cache: { wrote(object: DynamicObject): void };
}

/**
 * The object, or undefined when the API server itself answers that none exists. Throws for any other answer: a 404 of a proxy, or of a
 * server that does not serve the kind, says nothing about the object.
 */
export async function findSurely(
  client: KubeClient,
  type: ResourceType,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  try {
    return await client.get<DynamicObject>(type, ref, { signal });
  } catch (error) {
    if (isNotFound(error) && error.reason === "NotFound") return undefined;
    throw error;
  }
}
