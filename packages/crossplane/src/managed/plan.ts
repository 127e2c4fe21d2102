/**
 * Decides what a reconcile of a managed resource does. No I/O.
 *
 * | managed resource                                            | begins with                                      |
 * |-------------------------------------------------------------|--------------------------------------------------|
 * | `crossplane.io/paused: "true"`                              | pause: says so, does nothing else                |
 * | is deleted, and our finalizer is gone                       | ignore                                           |
 * | is deleted, and the external resource stays or never was    | release: the finalizer goes                      |
 * | anything else                                               | observe                                          |
 *
 * | observed                                | action, if the management policies allow it |
 * |-----------------------------------------|---------------------------------------------|
 * | not deleted, does not exist             | create                                      |
 * | not deleted, exists, not up to date     | update                                      |
 * | deleted, exists, not yet being deleted  | delete                                      |
 * | anything else                           | none                                        |
 */
import type { Managed, Observation } from "./external.ts";

/** Finalizer of Crossplane's managed resources. */
export const managedFinalizer = "finalizer.managedresource.crossplane.io";
const pausedAnnotation = "crossplane.io/paused";

/** The first step of a reconcile. */
export type Beginning = "pause" | "ignore" | "release" | "observe";

/** `neverCreated`: nothing was ever made at the backend. */
export function planBeginning(managed: Managed, neverCreated: (managed: Managed) => boolean): Beginning {
  const { annotations = {}, finalizers = [] } = managed.metadata;
  if (annotations[pausedAnnotation] === "true") return "pause";
  if (!isDeleting(managed)) return "observe";
  if (!finalizers.includes(managedFinalizer)) return "ignore";
  return isOrphaned(managed) || neverCreated(managed) ? "release" : "observe";
}

/** Reports whether the external resource stays when the managed resource is deleted: by the deletion policy, or the management policies, which are all that namespaced ones have. */
export function isOrphaned(managed: Managed): boolean {
  return managed.spec.deletionPolicy === "Orphan" || !allows(managed, "Delete");
}

/** Returns the action on the external resource; undefined: none. */
export type Action = "create" | "update" | "delete";

/** `deleting`: the managed resource was deleted when the reconcile began. */
export function planAction(managed: Managed, deleting: boolean, observed: Observation): Action | undefined {
  if (deleting) return observed.exists && observed.ready !== "deleting" ? "delete" : undefined;
  if (!observed.exists) return allows(managed, "Create") ? "create" : undefined;
  return !observed.upToDate && allows(managed, "Update") ? "update" : undefined;
}

/** Reports whether the managed resource is being deleted. */
export function isDeleting({ metadata }: Managed): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function allows({ spec }: Managed, action: string): boolean {
  const policies = spec.managementPolicies ?? ["*"];
  return policies.includes("*") || policies.includes(action);
}
