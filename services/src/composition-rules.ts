/**
 * A living claim keeps its Composition: another one would delete what was composed, and the data with it, and make it anew. Crossplane
 * fills the default in some time after a claim was made; that passes.
 */
import type { Rule } from "@klutch/schema";
import { telling } from "./rule-text.ts";

const sameName = "has(self.compositionRef) && self.compositionRef.name == oldSelf.compositionRef.name";
const nameIn = (of: string, otherwise: string): string =>
  `{has(${of}.compositionRef) ? '"' + ${of}.compositionRef.name + '"' : '${otherwise}'}`;
const kept = (rule: string, before: string): Rule =>
  telling(
    { rule, message: "CompositionRef is an immutable field", fieldPath: ".compositionRef" },
    `it is ${before} and cannot become ${nameIn("self", "unset")}, for everything would be made anew`,
  );

/** Of instances: a claim without a Composition has the default, unless its labels select one. */
export function keepsComposition(byDefault: string): Rule {
  return kept(
    `has(oldSelf.compositionRef) ? ${sameName} : ` +
      `!has(self.compositionRef) || self.compositionRef.name == '${byDefault}' || has(self.compositionSelector)`,
    nameIn("oldSelf", `"${byDefault}", the default,`),
  );
}

/** Of kinds whose default was another one once: a claim without a Composition may have got either. */
export const keepsNamedComposition: Rule = kept(
  `!has(oldSelf.compositionRef) || (${sameName})`,
  nameIn("oldSelf", "unset"),
);
