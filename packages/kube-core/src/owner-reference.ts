/** Who owns an object: the garbage collector deletes it when the last owner is gone. */
import type { KubeObject, ObjectMeta, OwnerReference } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resource-type.ts";

interface WithMetadata {
  readonly metadata: ObjectMeta;
}

/**
 * A reference to an owner of this type. A namespaced owner must be in the namespace of what it owns; nobody checks that before the garbage
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

/** Whether an owner of the object has this UID. False for an object that is not there, and for no UID. */
export function isOwnedBy(object: WithMetadata | undefined, uid: string | undefined): boolean {
  return uid !== undefined && object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** Whether the owner with this UID controls the object. */
export function isControlledBy(object: WithMetadata | undefined, uid: string | undefined): boolean {
  const controller = object?.metadata.ownerReferences?.find((owner) => owner.controller === true);
  return uid !== undefined && controller?.uid === uid;
}

/** Whether the reference is to an owner of this kind, in whatever version of its group. */
export function isOwnerOfKind(
  { apiVersion, kind }: OwnerReference,
  type: Pick<ResourceType, "group" | "kind">,
): boolean {
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  return kind === type.kind && group === type.group;
}
