/** Texts of CEL rules. */
import type { Rule } from "@klutch/schema";

/**
 * The rule with a message that goes on with what was found, as `<message>: <found>`. In `found`, `{…}` is CEL that makes text. It is needed
 * because the API server names the field that broke a rule, but of its value the type only.
 */
export function telling(rule: Rule & { readonly message: string }, found: string): Rule {
  const text = `${rule.message.replace(/\.$/, "")}: ${found}`;
  const parts = text
    .split(/\{([^{}]+)\}/)
    .map((part, index) => (index % 2 === 0 ? literal(part) : `(${part})`));
  return { ...rule, messageExpression: parts.filter((part) => part !== "''").join(" + ") };
}

/**
 * The same for a rule of a number. The API server takes a number as text for endless in sums of texts and refuses the rule as too costly,
 * so this takes `format` (Kubernetes 1.30).
 */
export function tellingNumber(rule: Rule & { readonly message: string }): Rule {
  const text = literal(`${rule.message.replace(/\.$/, "").replaceAll("%", "%%")}: it is %s`);
  return { ...rule, messageExpression: `${text}.format([self])` };
}

function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`;
}
