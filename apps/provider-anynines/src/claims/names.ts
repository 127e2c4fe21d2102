/** Names claims on their managed resources, and finds the managed resources of one claim by these names. */
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";

/** The fields of a managed resource that name its claim. */
export type OfClaim = Pick<Managed, "metadata">;

/**
 * `<namespace>/<name>` of the claim, or of the namespaced composite, that it was made for; none when its labels do not say so. A namespaced
 * managed resource without such a label was made by hand and stands for itself.
 */
export function claimKeys(managed: OfClaim): readonly string[] {
  const { labels, namespace, name } = managed.metadata;
  const own = labels?.[claimNameLabel] ?? (namespace === undefined ? undefined : name);
  return own === undefined ? [] : keysBeside(managed, own);
}

/** The key of another claim, always in the namespace of its own. */
export function keysBeside(managed: OfClaim, name: string): readonly string[] {
  const namespace = claimNamespaceOf(managed);
  return namespace === undefined ? [] : [`${namespace}/${name}`];
}

/** The namespace of its claim. That of a namespaced managed resource is its own: anyone who may write there chooses its labels. */
export function claimNamespaceOf({ metadata }: OfClaim): string | undefined {
  return metadata.namespace ?? metadata.labels?.[claimNamespaceLabel];
}

/** For people: the claim's name, or its own. */
export function shownName({ metadata }: OfClaim): string {
  return metadata.labels?.[claimNameLabel] ?? metadata.name ?? "";
}
