/** CEL rules of the claims of all services: what they may name. */
import type { Rule } from "@klutch/schema";
import type { Making } from "./data-service.ts";
import { telling } from "./rule-text.ts";

/**
 * Offering and plan are known names. Rules and not enumerations: the API server checks no rule of an object that breaks an
 * enumeration, and would not say that the field is immutable. `where` goes behind "possible".
 */
export function offered(
  type: string,
  names: Pick<Making, "offerings" | "plans" | "retiredPlans">,
  where = "",
): readonly Rule[] {
  const known = (field: string, possible: readonly string[], rule: Rule = isOneOf(field, possible)): Rule =>
    telling(
      { ...rule, message: `Unsupported ${field} used for ${type}`, fieldPath: `.${field}` },
      `spec.${field} is "{self.${field}}"; possible${where}: ${possible.join(", ")}`,
    );
  const { offerings, plans, retiredPlans } = names;
  const planRule = retiredPlans.length === 0 ? undefined : isOneOfOrStays("plan", plans, retiredPlans);
  return [known("service", offerings), known("plan", plans, planRule)];
}

const literals = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(", ");

function isOneOf(field: string, possible: readonly string[]): Rule {
  return { rule: `self.${field} in [${literals(possible)}]` };
}

/** Existing instances keep such names, and new ones cannot use them. */
function isOneOfOrStays(field: string, possible: readonly string[], staying: readonly string[]): Rule {
  const stays = `oldSelf.hasValue() && oldSelf.value().${field} == self.${field}`;
  return {
    rule: `${isOneOf(field, possible).rule} || (self.${field} in [${literals(staying)}] && ${stays})`,
    optionalOldSelf: true,
  };
}

/** A rule of a claim's spec that says what it found: the plan before and after, or service and plan. */
export function toldRule(rule: Rule): Rule {
  const { rule: text, message, messageExpression } = rule;
  if (message === undefined || messageExpression !== undefined || !text.includes("self.plan")) return rule;
  const found = text.includes("oldSelf.plan")
    ? 'spec.plan is "{oldSelf.plan}" and cannot become "{self.plan}"'
    : 'spec.service is "{self.service}", spec.plan is "{self.plan}"';
  return telling({ fieldPath: ".plan", ...rule, message }, found);
}
