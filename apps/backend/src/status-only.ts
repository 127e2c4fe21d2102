/** Tells apart the changes of an object that say nothing new to those who do not read its status. */
import { jsonEqual, type KubeObject } from "@klutch/kube-core";
import type { Change } from "@klutch/kube-runtime";

/**
 * Returns true if a write changed nothing but the status, and the version and the field managers that follow each write. Such a change wakes
 * only those who read the status: one that wakes everyone makes the work of each bind grow with the number of app clusters.
 */
export function isStatusOnly(change: Change<KubeObject>): boolean {
  return change.type === "updated" && jsonEqual(withoutStatus(change.previous), withoutStatus(change.object));
}

function withoutStatus({ status: _status, ...object }: KubeObject): unknown {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata;
  return { ...object, metadata };
}
