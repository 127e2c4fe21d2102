/** One text and one hash for one JSON value, whatever the order of its fields. */
import { hash } from "node:crypto";
import { isRecord } from "./is-record.ts";

/**
 * JSON with sorted keys and without undefined fields: values that `jsonEqual` calls equal give one text, others do not. Hashes of it are
 * stored on objects, so it does not change between releases.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value) && !isOrdered(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isRecord(value) || isOrdered(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .toSorted()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(",")}}`;
}

/** A hash that is equal for equal JSON values. 132 bits, base64url: enough to detect change, not a proof. */
export function jsonHash(value: unknown): string {
  return hash("sha256", canonicalJson(value), "base64url").slice(0, 22);
}

/** Returns true if all keys are sorted already, as servers send them: then the platform writes the text in one go. */
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
