/** Our finalizer on an APIServiceBinding, and the annotation that pins the provider it was made with. */
import { providerUidAnnotation, unbindFinalizer } from "@klutch/api";
import { isNotFound } from "@klutch/kube";
import { type DynamicObject, keyOf, refOf } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { BindingCluster } from "../../clusters.ts";

/** From here on the binding does not go before it is unbound, and it belongs to the provider with this identity. */
export async function addFinalizer(
  { client, bindingType }: BindingCluster,
  bindings: ReadYourWritesCache,
  binding: DynamicObject,
  identity: string,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers = [], annotations = {}, uid, resourceVersion } = binding.metadata;
  if (finalizers.includes(unbindFinalizer) && annotations[providerUidAnnotation] !== undefined) return;
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      finalizers: [...new Set([...finalizers, unbindFinalizer])],
      annotations: { [providerUidAnnotation]: annotations[providerUidAnnotation] ?? identity },
    },
  };
  const ref = refOf(keyOf(binding));
  bindings.wrote(await client.mergePatch<DynamicObject>(bindingType, ref, patch, { signal }));
}

/** Lets the binding go. Nothing happens when it is gone or does not carry our finalizer. */
export async function removeFinalizer(
  { client, bindingType }: BindingCluster,
  binding: DynamicObject,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers = [], uid, resourceVersion } = binding.metadata;
  if (!finalizers.includes(unbindFinalizer)) return;
  const rest = finalizers.filter((finalizer) => finalizer !== unbindFinalizer);
  const patch = { metadata: { uid, resourceVersion, finalizers: rest } };
  try {
    await client.mergePatch(bindingType, refOf(keyOf(binding)), patch, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
