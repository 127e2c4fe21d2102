/** Kubernetes without I/O: objects, resources, names and the rules that hold for all of them. Knows no Klutch kind. */
export { boundedName } from "./bounded-name.ts";
export type {
  Deployment,
  Immutable,
  Lease,
  PolicyRule,
  Role,
  RoleBinding,
  Secret,
} from "./built-in-kinds.ts";
export { canonicalJson, jsonHash } from "./canonical-json.ts";
export * from "./conditions.ts";
export { contains, containsEqualLists } from "./contains.ts";
export { isDnsLabel, isDnsSubdomain, maxLabelLength, maxSubdomainLength } from "./dns-name.ts";
export { parseDuration } from "./duration.ts";
export { hasLongNumber, parseExactJson } from "./exact-json.ts";
export { Heap, type HeapEntry } from "./heap.ts";
export { isRecord } from "./is-record.ts";
export { jsonEqual } from "./json-equal.ts";
export {
  type DynamicObject,
  isDeleting,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
} from "./object.ts";
export {
  controllerReference,
  isControlledBy,
  isOwnedBy,
  isOwnerOfKind,
  ownerReference,
} from "./owner-reference.ts";
export { collectionPath, objectPath } from "./paths.ts";
export { parseQuantity, sameQuantity } from "./quantity.ts";
export { keyOf, keyOfRef, type ObjectRef, refOf, refOfObject } from "./reference.ts";
export { apiVersionOf, describe, type ResourceType } from "./resource-type.ts";
export * from "./resources.ts";
export { secretText } from "./secret-text.ts";
export { changesBetween, similarName } from "./similar-name.ts";
export { soundMetadata } from "./sound-metadata.ts";
export { harmlessText, plainText, printable, printableLines } from "./text.ts";
export { microTime, wholeSeconds } from "./time.ts";
export { isOfOtherKind, stamped, withoutType } from "./stamp.ts";
export { jsonOf, listAt, numberAt, recordAt, recordsAt, textAt, valueAt } from "./value-at.ts";
