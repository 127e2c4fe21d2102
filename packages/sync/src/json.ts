/** Comparing JSON values, the only arithmetic of the engine. */
import { hash } from "node:crypto";
import { isRecord } from "./types.ts";

/** Whether two JSON values are equal; key order does not matter and an `undefined` field equals an absent one. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  return contains(left, right) && contains(right, left);
}

/**
 * Whether everything in `wanted` is in `observed`. Objects may hold more fields (defaults, other writers' fields); lists must have
 * the same length, because without the schema an additional item cannot be told from a foreign one.
 */
export function contains(observed: unknown, wanted: unknown): boolean {
  if (observed === wanted || wanted === undefined) return true;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(observed) || observed.length !== wanted.length) return false;
    return wanted.every((item, index) => contains(observed[index], item));
  }
  if (!isRecord(wanted) || !isRecord(observed)) return false;
  for (const key of Object.keys(wanted)) {
    if (!contains(observed[key], wanted[key])) return false;
  }
  return true;
}

/** A hash that is equal for equal JSON values, whatever their key order. 132 bits, base64url: enough to detect change, not a proof. */
export function jsonHash(value: unknown): string {
  return hash("sha256", canonical(value), "base64url").slice(0, 22);
}

/** JSON text with sorted keys and without undefined members. */
function canonical(value: unknown): string {
  if (Array.isArray(value) && !isOrdered(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isRecord(value) || isOrdered(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .toSorted()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

/** Whether all keys are sorted already, as servers send them: then the platform writes the text in one go. */
function isOrdered(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isOrdered);
  if (!isRecord(value)) return true;
  let last = "";
  for (const key in value) {
    if (key < last || !isOrdered(value[key])) return false;
    last = key;
  }
  return true;
}
