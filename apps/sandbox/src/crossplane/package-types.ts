/** The kinds of Crossplane's package manager. */
import type { ResourceType } from "@klutch/kube-core";

/** A kind of `pkg.crossplane.io/v1`. */
export function packageType(kind: string, plural: string): ResourceType {
  return { group: "pkg.crossplane.io", version: "v1", plural, kind, namespaced: false };
}
