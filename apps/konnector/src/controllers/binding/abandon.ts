/** Unbinding without the provider: claims become plain objects, and upstream objects stay unchanged. For providers that are gone for good. */
import { unbindPolicyAnnotation } from "@klutch/api";
import { isNotFound, type KubeClient, resourceTypeOf } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  isOwnedBy,
  keyOf,
  refOf,
  type ResourceType,
} from "@klutch/kube-core";
import { isMarked, unmarkPatch } from "@klutch/sync";
import type { BindingCluster, ConsumerCluster } from "../../clusters.ts";
import { removeFinalizer } from "./finalizer.ts";

/** Returns true if the binding asks to be abandoned. */
export function isAbandoned({ metadata }: DynamicObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.annotations?.[unbindPolicyAnnotation] === "Abandon"
  );
}

/** Lets go of all claims of the binding's API and then of the binding. Idempotent. */
export async function abandon(
  consumer: ConsumerCluster,
  bindingCluster: BindingCluster,
  binding: DynamicObject,
  signal: AbortSignal,
): Promise<void> {
  const name = binding.metadata.name ?? "";
  const crd = await consumer.client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
  const isOurs = isOwnedBy(crd, binding.metadata.uid);
  const type = crd === undefined || !isOurs ? undefined : resourceTypeOf(crd);
  if (type !== undefined) await releaseAll(consumer.client, type, signal);
  await removeFinalizer(bindingCluster, binding, signal);
}

async function releaseAll(client: KubeClient, type: ResourceType, signal: AbortSignal): Promise<void> {
  for await (const claim of client.listAll<DynamicObject>(type, { signal })) {
    if (!isMarked(claim)) continue;
    try {
      await client.mergePatch(type, refOf(keyOf(claim)), unmarkPatch(claim.metadata), { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
