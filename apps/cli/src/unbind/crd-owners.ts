/**
 * Gives CustomResourceDefinitions of earlier bindings to the present ones. A konnector in Go takes a CRD for its own only if an owner reference has
 * name and UID of the binding, and binding again gives another UID. Without a reference it would take it for somebody else's, so none is removed.
 */
import { type APIServiceBinding, apiServiceBindings } from "@klutch/api";
import { customResourceDefinitions, isOwnerOfKind, type KubeObject } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";

/** A CRD whose owner is an earlier binding of the same name. */
export interface LeftCrd {
  readonly crd: KubeObject;
  readonly binding: APIServiceBinding;
}

/** Finds the CRDs of these bindings that belong to an earlier one. `all`: every binding of the cluster. */
export async function findLeftCrds(
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
  all: readonly APIServiceBinding[],
  signal: AbortSignal,
): Promise<readonly LeftCrd[]> {
  const living = new Set(all.map(({ metadata }) => metadata.uid));
  const left: LeftCrd[] = [];
  for (const binding of bindings) {
    const { name = "", deletionTimestamp } = binding.metadata;
    const crd = await consumer.client.find(customResourceDefinitions, { name }, { signal });
    const owners = (crd?.metadata.ownerReferences ?? []).filter((one) =>
      isOwnerOfKind(one, apiServiceBindings),
    );
    const isLeft = owners.length > 0 && owners.every((one) => one.name === name && !living.has(one.uid));
    if (crd !== undefined && isLeft && deletionTimestamp === undefined) left.push({ crd, binding });
  }
  return left;
}

/** Makes the present binding the owner; other owners stay. */
export async function giveCrd(
  consumer: Consumer,
  { crd, binding }: LeftCrd,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", uid, resourceVersion, ownerReferences = [] } = crd.metadata;
  const owners = ownerReferences.map((one) =>
    isOwnerOfKind(one, apiServiceBindings) ? { ...one, uid: binding.metadata.uid ?? "" } : one,
  );
  const patch = { metadata: { uid, resourceVersion, ownerReferences: owners } };
  await consumer.client.mergePatch(customResourceDefinitions, { name }, patch, { signal });
}
