/** CEL rules of the claims of all services: what they may name. */
import type { Rule } from "@klutch/schema";
import { telling } from "./rule-text.ts";

/**
 * Offering and plan are known names. Rules and not enumerations: the API server checks no rule of an object that breaks an
 * enumeration, and would not say that the field is immutable. `where` goes behind "possible".
 */
export function offered(
  type: string,
  names: { readonly offerings: readonly string[]; readonly plans: readonly string[] },
  where = "",
): readonly Rule[] {
  const known = (field: string, possible: readonly string[]): Rule => {
    const list = possible.map((name) => `"${name}"`).join(", ");
    const message = `Unsupported ${field} used for ${type}`;
    return telling(
      { rule: `self.${field} in [${list}]`, message, fieldPath: `.${field}` },
      `spec.${field} is "{self.${field}}"; possible${where}: ${possible.join(", ")}`,
    );
  };
  return [known("service", names.offerings), known("plan", names.plans)];
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
