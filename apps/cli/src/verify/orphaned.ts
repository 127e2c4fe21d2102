/** APIs of the app cluster that a binding left behind. */
import type { APIServiceBinding } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject } from "@klutch/kube-core";
import { resourceTypeOf } from "@klutch/kube";
import type { ObjectsByResource } from "@klutch/sync";
import { bindingOwner } from "../app-cluster/bound-resource.ts";
import { listBindingsOrFail } from "./bindings.ts";
import { listAll, type Reader } from "./reader.ts";

/** CRDs that bindings own or owned, and the metadata of the objects whose binding is gone: they may keep our finalizer. */
export async function readOrphanedApis(
  { consumer, signal }: Reader,
  bindings: readonly APIServiceBinding[],
): Promise<{ readonly crds: readonly DynamicObject[]; readonly objects: ObjectsByResource }> {
  const options = { metadataOnly: true, signal };
  const all = await listAll<DynamicObject>(consumer.client, customResourceDefinitions, options);
  const crds = all.filter((crd) => bindingOwner(crd) !== undefined);
  const every = await listBindingsOrFail(consumer, signal);
  const objects: Record<string, readonly DynamicObject[]> = {};
  for (const { metadata } of crds) {
    const { name = "" } = metadata;
    if ([...bindings, ...every].some((binding) => binding.metadata.name === name)) continue;
    const crd = await consumer.client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    const type = crd === undefined ? undefined : resourceTypeOf(crd);
    if (type !== undefined) objects[name] = await listAll<DynamicObject>(consumer.client, type, options);
  }
  return { crds, objects };
}
