/** Names the owners of an object: the garbage collector deletes it when the last owner is gone. */
import type { KubeObject, ObjectMeta, OwnerReference } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resource-type.ts";

interface WithMetadata {
  readonly metadata: ObjectMeta;
}

/**
 * A reference to an owner of this type. A namespaced owner must be in the namespace of what it owns; nothing checks that before the garbage
 * collector deletes what it takes for lost.
 */
export function ownerReference(
  type: ResourceType,
  { name, uid }: { readonly name: string; readonly uid: string },
): OwnerReference {
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, uid };
}

/**
 * A reference to the one owner that controls an object. It also keeps an owner that is deleted in the foreground until the object is gone.
 * `owner` came from a server, so it has a name and a UID.
 */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name = "", uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Returns true if an owner of the object has this UID; false without an object or a UID. */
export function isOwnedBy(object: WithMetadata | undefined, uid: string | undefined): boolean {
  return uid !== undefined && object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** Returns true if the owner with this UID controls the object. */
export function isControlledBy(object: WithMetadata | undefined, uid: string | undefined): boolean {
  const controller = object?.metadata.ownerReferences?.find((owner) => owner.controller === true);
  return uid !== undefined && controller?.uid === uid;
}

/** Returns true if the reference names an owner of this kind, in any version of its group. */
export function isOwnerOfKind(
  { apiVersion, kind }: OwnerReference,
  type: Pick<ResourceType, "group" | "kind">,
): boolean {
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  return kind === type.kind && group === type.group;
}
