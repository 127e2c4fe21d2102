/**
 * Words of the provider for people of an app cluster: they know neither its namespaces nor what these are called. A name counts only as a
 * whole, so that one that is the beginning of another stays apart.
 */
import type { AnyCondition } from "./status-conditions.ts";

/** A namespace of the provider, and the one of the app cluster that it mirrors. */
export interface NamespacePair {
  readonly provider: string;
  readonly consumer: string;
}

const before = "(?<![a-z0-9-])";
const after = "(?![a-z0-9-])";

/** The text with the app cluster's namespace in place of the provider's. */
export function localWords(text: string, { provider, consumer }: NamespacePair): string {
  return isNamed(text, provider) ? text.replaceAll(nameOf(provider), () => consumer) : text;
}

/**
 * The text without names of a tenant's namespaces: of one that mirrors a namespace of the app cluster that one's name is left, and the
 * cluster namespace itself becomes `this cluster`. A name that was too long for the provider keeps its shortened form.
 */
export function tenantWords(text: string, clusterNamespace: string): string {
  if (clusterNamespace === "" || !text.includes(clusterNamespace)) return text;
  const mirror = new RegExp(`${before}${clusterNamespace}-(?=[a-z0-9])`, "g");
  return text.replaceAll(mirror, "").replaceAll(nameOf(clusterNamespace), "this cluster");
}

/** Returns true if a message of the conditions names this namespace. */
export function conditionsName(conditions: readonly AnyCondition[], namespace: string | undefined): boolean {
  if (namespace === undefined) return false;
  return conditions.some(({ message }) => typeof message === "string" && isNamed(message, namespace));
}

/** The condition with its message in local words. */
export function localCondition(condition: AnyCondition, pair: NamespacePair): AnyCondition {
  const { message } = condition;
  if (typeof message !== "string" || !isNamed(message, pair.provider)) return condition;
  return { ...condition, message: localWords(message, pair) };
}

function isNamed(text: string, name: string): boolean {
  return name !== "" && text.includes(name) && nameOf(name).test(text);
}

/** Names of namespaces have no character that means something in a pattern; a stranger's that has is not looked for. */
function nameOf(name: string): RegExp {
  return /^[a-z0-9-]+$/.test(name) ? new RegExp(`${before}${name}${after}`, "g") : /(?!)/g;
}
