/** How managed resources name the claims that they were made for, and find each other by them. */
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";

/** What of a managed resource names its claim. */
export type OfClaim = Pick<Managed, "metadata">;

/** `<claim namespace>/<claim name>` of the claim that it was made for; none when its labels do not say so. */
export function claimKeys(managed: OfClaim): readonly string[] {
  const name = managed.metadata.labels?.[claimNameLabel];
  return name === undefined ? [] : keysBeside(managed, name);
}

/** The key of another claim, always in the namespace of its own. */
export function keysBeside({ metadata }: OfClaim, name: string): readonly string[] {
  const namespace = metadata.labels?.[claimNamespaceLabel];
  return namespace === undefined ? [] : [`${namespace}/${name}`];
}

/** For people: the claim's name, or its own. */
export function shownName({ metadata }: OfClaim): string {
  return metadata.labels?.[claimNameLabel] ?? metadata.name ?? "";
}

/** For people: the namespace of its claim. */
export function shownNamespace({ metadata }: OfClaim): string {
  return metadata.labels?.[claimNamespaceLabel] ?? "";
}
