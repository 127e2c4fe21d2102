/** An object that somebody has to make, but only one. */
import type { KubeObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { isAlreadyExists } from "./errors.ts";
import type { KubeClient, ReadOptions } from "./types.ts";

/**
 * The object as it stands, made by `make` when there is none. Of those who make it at the same time all get the one that was
 * first. An existing object is never changed.
 */
export async function findOrCreate<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  ref: ObjectRef,
  make: () => T,
  options: ReadOptions = {},
): Promise<T> {
  const present = await client.find<T>(type, ref, options);
  if (present !== undefined) return present;
  try {
    return await client.create<T>(type, make(), options);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get<T>(type, ref, options);
  }
}
