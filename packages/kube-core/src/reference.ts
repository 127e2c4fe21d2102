/** Names of objects and the keys made from them. */
import type { KubeObject } from "./object.ts";

/** Names one object. `namespace` is required exactly when the resource is namespaced. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(object: {
  readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined };
}): string {
  const { namespace, name = "" } = object.metadata;
  return keyOfRef({ namespace, name });
}

/** The key of the object of this reference. */
export function keyOfRef({ namespace, name }: ObjectRef): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The reference that `keyOf` made the key from. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The reference of an object that has a name. Throws `RangeError` for one that has none: that is a programming error. */
export function refOfObject(object: KubeObject): ObjectRef {
  const { name, namespace } = object.metadata;
  if (name === undefined) throw new RangeError(`${object.kind}: metadata.name is missing`);
  return { name, namespace };
}
