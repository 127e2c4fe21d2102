/** The shapes the decisions work on. Structurally they are @klutch/kube's objects, which this package may not import. */

/** `metadata` of an object, as far as decisions read or write it. */
export interface SyncMeta {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly SyncOwner[] | undefined;
  readonly managedFields?: readonly unknown[] | undefined;
}

/** An owner reference. */
export interface SyncOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

/** Any object of either cluster; top-level fields can be read by name. */
export interface SyncObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: SyncMeta;
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
export function refOfObject(object: { readonly metadata: SyncMeta }): Ref {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** `<namespace>/<name>`, or the name of a cluster-scoped object. */
export function nameOf({ namespace, name }: Ref): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Whether the object has a deletion timestamp. */
export function isDeleting(object: { readonly metadata: SyncMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Whether `value` is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
