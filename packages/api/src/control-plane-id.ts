/**
 * Names a control plane in public without saying which cluster it is: a hash of the UID of its namespace kube-system. Who reads the
 * namespace of a cluster can tell whether it is this one, and nothing else follows from the hash.
 */
import { base62Hash } from "./hash.ts";

/** Namespace that every API server makes for itself, and whose UID therefore names the cluster. */
export const clusterIdentityNamespace = "kube-system";

/** Returns the id of the cluster whose kube-system has this UID. The label keeps it apart from every other hash of a UID. */
export function controlPlaneIdOf(uid: string): string {
  return base62Hash(`klutch.anynines.com/control-plane/v1\n${uid}`);
}

/** Reads a provider's `controlPlaneId`. Returns undefined if it is not one. */
export function decodeControlPlaneId(value: unknown): string | undefined {
  return typeof value === "string" && /^[0-9A-Za-z]{1,64}$/.test(value) ? value : undefined;
}
