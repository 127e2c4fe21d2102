/**
 * The two generations of the claims, which a control plane may offer side by side. A legacy claim stands for a composite of its own, which
 * is of the whole cluster. A claim of v2 is the composite, in the namespace that it is made in.
 */
import { claimGroup, namespacedClaimGroup } from "@klutch/api";

/** The differences between the generations. */
export interface Generation {
  readonly name: "legacy" | "v2";
  /** API group of the claims. */
  readonly group: string;
  /** Field of a claim's spec in which Crossplane's own fields are, with a dot behind it; empty where they are in the spec itself. */
  readonly machinery: "" | "crossplane.";
  /** A Composition serves one type of composite, so each generation has its own. */
  readonly suffix: "" | "-namespaced";
}

/** Claims of cluster-scoped composites. */
export const legacy: Generation = { name: "legacy", group: claimGroup, machinery: "", suffix: "" };

/** Namespaced composites, of Crossplane 2. */
export const v2: Generation = {
  name: "v2",
  group: namespacedClaimGroup,
  machinery: "crossplane.",
  suffix: "-namespaced",
};

/** Both, the default first. */
export const generations: readonly Generation[] = [legacy, v2];

/** A Composition's name there. */
export function compositionName({ suffix }: Generation, name: string): string {
  return `${name}${suffix}`;
}

/** CEL: whether a claim's spec, which `of` is, names or selects its Composition. */
export function hasChoice(
  { machinery }: Generation,
  field: "compositionRef" | "compositionSelector",
  of: "self" | "oldSelf" = "self",
): string {
  return machinery === ""
    ? `has(${of}.${field})`
    : `(has(${of}.crossplane) && has(${of}.${machinery}${field}))`;
}

/** CEL: the Composition that it names. */
export function chosenName({ machinery }: Generation, of: "self" | "oldSelf" = "self"): string {
  return `${of}.${machinery}compositionRef.name`;
}
