/** Served resources. */
import type { ObjectRef } from "./reference.ts";

/** Names one served resource: what a request path needs, and the kind for bodies and messages. */
export interface ResourceType {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** Lower-case plural, as in the request path. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** `group/version`, or just the version for the core group. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** For messages: `Secret default/a`. */
export function describe(type: ResourceType, ref: ObjectRef): string {
  return `${type.kind} ${ref.namespace === undefined ? "" : `${ref.namespace}/`}${ref.name}`;
}
