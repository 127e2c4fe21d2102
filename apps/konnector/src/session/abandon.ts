/** Unbinding without the provider: claims become plain objects, and what is upstream is left as it is. For providers that are gone for good. */
import {
  boundAnnotation,
  customResourceDefinitions,
  syncerFinalizer,
  unbindFinalizer,
  unbindPolicyAnnotation,
} from "@klutch/api";
import {
  type DynamicObject,
  isNotFound,
  type KubeClient,
  refOf,
  resourceTypeOf,
  type ResourceType,
} from "@klutch/kube";
import { isMarked } from "@klutch/sync";
import type { BindingCluster, ConsumerCluster } from "../clusters.ts";

/** Whether the binding asks for it. */
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
  const isOurs = crd?.metadata.ownerReferences?.some(({ uid }) => uid === binding.metadata.uid) === true;
  const type = crd === undefined || !isOurs ? undefined : resourceTypeOf(crd);
  if (type !== undefined) await releaseAll(consumer.client, type, signal);
  await removeUnbindFinalizer(bindingCluster, binding, signal);
}

async function releaseAll(client: KubeClient, type: ResourceType, signal: AbortSignal): Promise<void> {
  for await (const claim of client.listAll<DynamicObject>(type, { signal })) {
    if (!isMarked(claim)) continue;
    const { namespace, name = "", resourceVersion, uid } = claim.metadata;
    const finalizers = (claim.metadata.finalizers ?? []).filter((finalizer) => finalizer !== syncerFinalizer);
    const patch = {
      metadata: { uid, resourceVersion, finalizers, annotations: { [boundAnnotation]: null } },
    };
    try {
      await client.mergePatch(type, { namespace, name }, patch, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Lets the binding go. Nothing happens when it is gone or does not carry our finalizer. */
export async function removeUnbindFinalizer(
  { client, bindingType }: BindingCluster,
  binding: DynamicObject,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers = [], uid, resourceVersion, namespace, name } = binding.metadata;
  if (!finalizers.includes(unbindFinalizer)) return;
  const rest = finalizers.filter((finalizer) => finalizer !== unbindFinalizer);
  const ref = namespace === undefined ? refOf(name ?? "") : refOf(`${namespace}/${name}`);
  try {
    await client.mergePatch(
      bindingType,
      ref,
      { metadata: { uid, resourceVersion, finalizers: rest } },
      { signal },
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
