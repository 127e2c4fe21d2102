/** CEL rules of the claims of all services: what they may name. */
import type { Rule } from "@klutch/schema";

const listOf = (values: readonly string[]): string => `[${values.map((value) => `"${value}"`).join(", ")}]`;
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
