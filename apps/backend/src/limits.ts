/** Limits the objects of one user, of one app cluster and in total. An object over a limit is refused or waits; working ones are never removed. */
import type { KubeObject } from "@klutch/kube-core";

/** All of them are numbers of objects. */
export interface Limits {
  /** App clusters of all people. */
  readonly clusters: number;
  readonly clustersPerUser: number;
  /** Mapped namespaces of one app cluster. */
  readonly namespacesPerCluster: number;
  /** Export requests of one app cluster, answered ones included until they are removed. */
  readonly requestsPerCluster: number;
}

/** Limits that hold if nothing is configured. */
export const defaultLimits: Limits = {
  clusters: 1_000,
  clustersPerUser: 50,
  namespacesPerCluster: 500,
  requestsPerCluster: 100,
};

/**
 * Returns true if there is no room for `own`: admitted objects come first, then waiting ones by age; within one second names decide, so that
 * every reconcile decides the same.
 */
export function isOverLimit<T extends KubeObject>(
  own: T,
  all: readonly T[],
  isIn: (object: T) => boolean,
  most: number,
): boolean {
  if (all.length <= most || isIn(own)) return false;
  let before = 0;
  // Not all are looked at: a flood has thousands, and each of them asks.
  for (const other of all) if ((isIn(other) || olderFirst(other, own) < 0) && ++before >= most) return true;
  return false;
}

/** Compares two objects by age, within one second by name. */
export function olderFirst({ metadata: left }: KubeObject, { metadata: right }: KubeObject): number {
  const byTime = order(left.creationTimestamp, right.creationTimestamp);
  return byTime === 0 ? order(left.name, right.name) : byTime;
}

function order(left = "", right = ""): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
