/** Stamps written objects with the type that they are written as. */
import type { KubeObject } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resource-type.ts";

/** The part of an object that is written. */
interface WrittenPart {
  readonly subresource?: string | undefined;
}

/** Subresources such as `scale` have a kind of their own. */
export const isOfOtherKind = ({ subresource = "status" }: WrittenPart = {}): boolean =>
  subresource !== "status";

/** The object as one of the type that it is written as. What it says of itself may be another party's words. */
export function stamped(
  type: ResourceType,
  object: KubeObject,
  options: WrittenPart | undefined,
): KubeObject {
  return isOfOtherKind(options) ? object : { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

/** The patch without words on what it patches. */
export function withoutType(patch: object): object {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => key !== "apiVersion" && key !== "kind"));
}
