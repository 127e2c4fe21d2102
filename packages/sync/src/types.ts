/** The shapes the decisions work on. Structurally they are @klutch/kube's objects, which this package may not import. */
import type { Metadata } from "@klutch/api";

/** Any object of either cluster; top-level fields can be read by name. */
export interface SyncObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [field: string]: unknown;
}

/** Names one object in one of the two clusters. */
export interface Ref {
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The reference of an object that came from a server. */
export function refOfObject(object: { readonly metadata: Metadata }): Ref {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** `<namespace>/<name>`, or the name of a cluster-scoped object. */
export function nameOf({ namespace, name }: Ref): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Whether the object has a deletion timestamp. */
export function isDeleting(object: { readonly metadata: Metadata }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
