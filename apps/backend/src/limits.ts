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
  return !isIn(own) && all.filter((other) => isIn(other) || isOlder(other, own)).length >= most;
}

function isOlder(left: KubeObject, right: KubeObject): boolean {
  const [a, b] = [left.metadata, right.metadata].map(
    ({ creationTimestamp = "", name = "" }) => `${creationTimestamp} ${name}`,
  );
  return (a ?? "") < (b ?? "");
}
