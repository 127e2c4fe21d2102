/** CEL rules of the claims of all services: what they may name. */
import type { Rule } from "@klutch/schema";
import { telling } from "./rule-text.ts";

/**
 * Offering and plan are known names. Rules and not enumerations: the API server checks no rule of an object that breaks an
 * enumeration, and would not say that the field is immutable.
 */
export function offered(
  type: string,
  names: { readonly offerings: readonly string[]; readonly plans: readonly string[] },
): readonly Rule[] {
  return [
    known("service", `Unsupported service used for ${type}`, names.offerings),
    known("plan", `Unsupported plan used for ${type}`, names.plans),
  ];
}

function known(field: string, message: string, names: readonly string[]): Rule {
  const list = names.map((name) => `"${name}"`).join(", ");
  return telling(
    { rule: `self.${field} in [${list}]`, message, fieldPath: `.${field}` },
    `spec.${field} is "{self.${field}}"; possible: ${names.join(", ")}`,
  );
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
