/** Label and field selectors. Of fields, only `metadata.name` and `metadata.namespace` can be selected. */
import type { Scope } from "@klutch/kube";
import { at, type JsonObject, textAt } from "./json.ts";
import { badRequest } from "./status-errors.ts";

/** Returns true if an object is in scope. */
export type Matcher = (object: JsonObject) => boolean;

/** The matcher of namespace and selectors together. Throws 400 for one that cannot be read. */
export function matcherOf(scope: Scope): Matcher {
  const parts: Matcher[] = [];
  const { namespace, labelSelector = "", fieldSelector = "" } = scope;
  if (namespace !== undefined) parts.push((object) => textAt(object, "metadata", "namespace") === namespace);
  // Commas inside parentheses separate values, not requirements.
  for (const text of labelSelector.split(/,(?![^(]*\))/))
    if (text.trim() !== "") parts.push(labelMatcher(text.trim()));
  for (const text of fieldSelector.split(",")) if (text.trim() !== "") parts.push(fieldMatcher(text.trim()));
  return (object) => parts.every((part) => part(object));
}

const setBased = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/;
const equality = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/;
const presence = /^(!?)\s*([^=!\s]+)$/;

function labelMatcher(text: string): Matcher {
  const labelOf = (object: JsonObject, key: string): string | undefined => {
    const value = at(object, "metadata", "labels", key);
    return typeof value === "string" ? value : undefined;
  };
  const [, setKey = "", operator, list = ""] = setBased.exec(text) ?? [];
  if (operator !== undefined) {
    const values = new Set(list.split(",").map((value) => value.trim()));
    return (object) => {
      const value = labelOf(object, setKey);
      return operator === "in"
        ? value !== undefined && values.has(value)
        : value === undefined || !values.has(value);
    };
  }
  const [, key = "", sign, wanted] = equality.exec(text) ?? [];
  if (sign !== undefined) return (object) => (labelOf(object, key) === wanted) === (sign !== "!=");
  const [, not, name = ""] = presence.exec(text) ?? [];
  if (not === undefined) throw badRequest(`unable to parse requirement: ${text}`);
  return (object) => (labelOf(object, name) !== undefined) === (not === "");
}

function fieldMatcher(text: string): Matcher {
  const [, key = "", sign, wanted] = equality.exec(text) ?? [];
  const field = { "metadata.name": "name", "metadata.namespace": "namespace" }[key];
  if (sign === undefined || field === undefined)
    throw badRequest(`field label not supported: ${key || text}`);
  return (object) => (textAt(object, "metadata", field) === wanted) === (sign !== "!=");
}
