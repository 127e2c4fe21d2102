/** The shape that every Kubernetes object has, and what its metadata says. */

/** `metadata.ownerReferences[]` of an object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

/** `metadata` of an object; times are RFC 3339 strings as the server sends them. */
export interface ObjectMeta {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly managedFields?: readonly unknown[] | undefined;
}

/** Object of any kind. A typed kind is an interface with narrower `spec` and `status`. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** An object of a kind that is known only at run time: every top-level field can be read by name. */
export type DynamicObject = KubeObject & { readonly [field: string]: unknown };

/** Returns true if the object is being deleted. It may stay for as long as it has finalizers. */
export function isDeleting(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
