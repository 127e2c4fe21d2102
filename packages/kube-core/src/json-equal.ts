import { isRecord } from "./is-record.ts";

/**
 * Whether two JSON values are equal. Key order does not matter; a field that is `undefined` equals one that is absent, because
 * neither reaches the wire. The hottest function of the sync engine, hence by hand.
 */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) return Array.isArray(right) && arraysEqual(left, right);
  return isRecord(left) && isRecord(right) && recordsEqual(left, right);
}

function arraysEqual(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (!jsonEqual(left[index], right[index])) return false;
  }
  return true;
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Own keys only: a user's object may have keys such as `constructor` or `__proto__`. */
function recordsEqual(left: JsonRecord, right: JsonRecord): boolean {
  let unmatched = 0;
  for (const key of Object.keys(left)) {
    const value = left[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(right, key) || !jsonEqual(value, right[key])) return false;
    unmatched++;
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) unmatched--;
  return unmatched === 0;
}
