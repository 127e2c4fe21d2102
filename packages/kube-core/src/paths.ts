/** Request paths of resources and objects. */
import type { ObjectRef } from "./reference.ts";
import type { ResourceType } from "./resource-type.ts";

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

/** A name as one part of a path. A character that Kubernetes allows in no name means another path when it is resolved. */
function segment(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name))
    throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is not a valid name of an object`);
  return encodeURIComponent(name);
}
