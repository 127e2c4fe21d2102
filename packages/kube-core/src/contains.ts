/** Compares a live value with the part of it that is wanted. */
import { isRecord } from "./is-record.ts";
import { jsonEqual } from "./json-equal.ts";

/** Compares two items of a list, or two values. */
type Holds = (observed: unknown, wanted: unknown) => boolean;

/**
 * Whether everything in `wanted` is in `observed`. Objects may hold more fields: defaults, other writers' fields. A field that is
 * `undefined` is not wanted. Lists must have the same length, because without the schema an additional item cannot be distinguished from a foreign
 * one; their items may hold more fields as well.
 */
export function contains(observed: unknown, wanted: unknown): boolean {
  return holds(observed, wanted, contains);
}

/**
 * As `contains`, but lists must be equal. For objects in which a field more in an item means something else, such as the rules of a Role:
 * there `resourceNames` takes rights away.
 */
export function containsEqualLists(observed: unknown, wanted: unknown): boolean {
  return holds(observed, wanted, jsonEqual);
}

function holds(observed: unknown, wanted: unknown, sameItem: Holds): boolean {
  if (observed === wanted || wanted === undefined) return true;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(observed) || observed.length !== wanted.length) return false;
    return wanted.every((item, index) => sameItem(observed[index], item));
  }
  if (!isRecord(wanted) || !isRecord(observed)) return false;
  for (const key of Object.keys(wanted)) {
    // Own fields only: a user's object may have keys such as `constructor` or `__proto__`.
    const present = Object.hasOwn(observed, key) ? observed[key] : undefined;
    if (!holds(present, wanted[key], sameItem)) return false;
  }
  return true;
}
