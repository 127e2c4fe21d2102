/** CEL rules about plans that several services share. A plan's name says its size, its shape and its variant. */
import type { Rule } from "@klutch/schema";

const listOf = (values: readonly string[]): string => `[${values.map((value) => `"${value}"`).join(", ")}]`;
const rank = (plan: string): string =>
  `(${plan}.contains("-nano") ? 0 : ${plan}.contains("-small") ? 1 : ${plan}.contains("-medium") ? 2 : 3)`;

/**
 * Offering and plan are known names. Rules and not enumerations: the API server checks no rule of an object that breaks an
 * enumeration, and would not say that the field is immutable.
 */
export function offered(
  type: string,
  names: { readonly offerings: readonly string[]; readonly plans: readonly string[] },
): readonly Rule[] {
  return [
    { rule: `self.service in ${listOf(names.offerings)}`, message: `Unsupported service used for ${type}` },
    { rule: `self.plan in ${listOf(names.plans)}`, message: `Unsupported plan used for ${type}` },
  ];
}

/** A plan may grow and may not shrink: nano < small < medium < big. */
export const neverSmaller: Rule = {
  rule: `${rank("self.plan")} >= ${rank("oldSelf.plan")}`,
  message: "Transition from bigger to smaller plan size is not supported.",
};

/** A plan keeps a word of its name, or keeps being without it. */
export function keeps(word: string, title: string): Rule {
  return {
    rule: `self.plan.contains("${word}") == oldSelf.plan.contains("${word}")`,
    message: `Plan migrations not possible from Non-${title} to ${title} and ${title} to Non-${title}`,
  };
}

/** An instance of several servers, which `word` in its plan's name stands for, does not become one of a single server. */
export function staysReplicated(word: string): Rule {
  return {
    rule: `!(self.plan.contains("single") && oldSelf.plan.contains("${word}"))`,
    message: "Migration from replicated to single Data Service Instance is not supported.",
  };
}
