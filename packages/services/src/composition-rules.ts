/**
 * Keeps the Composition of a living claim: another one would delete the composed resources with their data, and create them again. Crossplane
 * sets the default some time after a claim was created; the rules allow that.
 */
import type { Rule } from "@klutch/schema";
import { chosenName, type Generation, hasChoice } from "./generation.ts";
import { telling } from "./rule-text.ts";

const named = (generation: Generation, of: "self" | "oldSelf"): string =>
  hasChoice(generation, "compositionRef", of);
const sameName = (generation: Generation): string =>
  `${named(generation, "self")} && ${chosenName(generation)} == ${chosenName(generation, "oldSelf")}`;
const nameIn = (generation: Generation, of: "self" | "oldSelf", otherwise: string): string =>
  `{${named(generation, of)} ? '"' + ${chosenName(generation, of)} + '"' : '${otherwise}'}`;

function kept(generation: Generation, rule: string, before: string): Rule {
  const fieldPath = `.${generation.machinery}compositionRef`;
  return telling(
    { rule, message: "CompositionRef is an immutable field", fieldPath },
    `it is ${before} and cannot become ${nameIn(generation, "self", "unset")}, which would create everything again without its data`,
  );
}

/** Returns the rule of instances: a claim without a Composition has the default, unless its labels select one. */
export function keepsComposition(generation: Generation, byDefault: string): Rule {
  return kept(
    generation,
    `${named(generation, "oldSelf")} ? ${sameName(generation)} : ` +
      `!${named(generation, "self")} || ${chosenName(generation)} == '${byDefault}' || ` +
      hasChoice(generation, "compositionSelector"),
    nameIn(generation, "oldSelf", `"${byDefault}", the default,`),
  );
}

/** Returns the rule of kinds whose default changed once: a claim without a Composition may have got either. */
export function keepsNamedComposition(generation: Generation): Rule {
  return kept(
    generation,
    `!${named(generation, "oldSelf")} || (${sameName(generation)})`,
    nameIn(generation, "oldSelf", "unset"),
  );
}
