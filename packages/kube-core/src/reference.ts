/** Names of objects and the keys made from them. */

/** Names one object. `namespace` is required exactly when the resource is namespaced. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Anything with the metadata of an object. */
interface Named {
  readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined };
}

/** `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(object: Named): string {
  return keyOfRef(refOfObject(object));
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

/** The reference of an object. One without a name gets an empty one, which no request path takes. */
export function refOfObject(object: Named): ObjectRef {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
