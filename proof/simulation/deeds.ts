/** Random deeds of those who mean harm: what they choose, and what comes of it. */
import type { KubeClient, Random } from "@klutch/kube";
import { type DynamicObject, type ObjectMeta, refOfObject, type ResourceType } from "@klutch/kube-core";
import { objectOfType } from "@klutch/kube-testing";
import { placeOf } from "./control-plane.ts";

/** Chooses one of a list. Throws when it is empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  const index = Math.floor(random() * list.length);
  if (list.length === 0) throw new Error("there is nothing to do it to");
  return list[index] as T;
}

/** Repeats each of a list as often as its weight says, for `pick`. */
export function weighted<T>(weights: readonly (readonly [item: T, weight: number])[]): readonly T[] {
  return weights.flatMap(([item, weight]) => Array.from({ length: weight }, () => item));
}

/** Returns the beginning of an error's message. */
export function reasonOf(error: unknown, length?: number): string {
  return error instanceof Error ? error.message.slice(0, length) : String(error);
}

/** Creates an object of these fields. */
export async function createObject(
  client: KubeClient,
  type: ResourceType,
  metadata: ObjectMeta,
  fields: object = {},
): Promise<void> {
  await client.create(type, objectOfType(type, metadata, fields));
}

/** Patches an object, or its status when the patch has one; says what was patched. */
export async function patchObject(
  client: KubeClient,
  type: ResourceType,
  { metadata }: Pick<DynamicObject, "metadata">,
  patch: object,
): Promise<string> {
  const options = "status" in patch ? { subresource: "status" } : {};
  await client.mergePatch(type, refOfObject({ metadata }), patch, options);
  return placeOf(type, metadata);
}

/** Deletes an object; says which. */
export async function deleteObject(
  client: KubeClient,
  type: ResourceType,
  { metadata }: Pick<DynamicObject, "metadata">,
): Promise<string> {
  await client.delete(type, refOfObject({ metadata }));
  return `deletes ${placeOf(type, metadata)}`;
}
