/** Request paths and keys of resources and objects. */
import type { KubeObject, ObjectRef, ResourceType } from "./types.ts";

/** `group/version`, or just the version for the core group. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** Path of the collection, in `namespace` or across all. Throws `RangeError` for a name that would lead elsewhere. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = namespace === undefined ? "" : `/namespaces/${segment(namespace)}`;
  return `${root}${scope}/${type.plural}`;
}

/** Path of one object. Throws when the reference does not fit the resource's scope: that is a programming error. */
export function objectPath(type: ResourceType, ref: ObjectRef, subresource?: string): string {
  if (type.namespaced !== (ref.namespace !== undefined)) {
    throw new RangeError(
      `${type.kind} ${ref.name}: a ${type.namespaced ? "namespace is required" : "cluster-scoped object has no namespace"}`,
    );
  }
  const path = `${collectionPath(type, ref.namespace)}/${segment(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A name as one part of a path. What Kubernetes allows in no name means another path to whoever resolves it. */
function segment(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name))
    throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is no name of an object`);
  return encodeURIComponent(name);
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

/** For messages: `Secret default/a`. */
export function describe(type: ResourceType, ref: ObjectRef): string {
  return `${type.kind} ${ref.namespace === undefined ? "" : `${ref.namespace}/`}${ref.name}`;
}
