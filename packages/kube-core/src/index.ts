/** Kubernetes without I/O: objects, resources, names and the rules that hold for all of them. Knows no Klutch kind. */
export { boundedName, maxLabelLength } from "./bounded-name.ts";
export { canonicalJson } from "./canonical-json.ts";
export * from "./conditions.ts";
export { isRecord } from "./is-record.ts";
export { jsonEqual } from "./json-equal.ts";
export type { DynamicObject, KubeObject, ObjectMeta, OwnerReference } from "./object.ts";
export { collectionPath, objectPath } from "./paths.ts";
export { keyOf, keyOfRef, type ObjectRef, refOf, refOfObject } from "./reference.ts";
export { apiVersionOf, describe, type ResourceType } from "./resource-type.ts";
export * from "./resources.ts";
export { secretText } from "./secret-text.ts";
export { soundMetadata } from "./sound-metadata.ts";
export { isOfOtherKind, stamped, withoutType } from "./stamp.ts";
