/** Compares a live object with the applied one, although the server completed and normalised it. */
import { isRecord, jsonEqual, sameQuantity } from "@klutch/kube-core";
import { listKeys } from "./strategic-merge.ts";

/**
 * Returns true if every field of `wanted` is in `present`. Additional fields and items do not count, quantities are compared as numbers,
 * and empty, zero or false values may be absent, because the server leaves such fields out.
 */
export function holds(present: unknown, wanted: unknown, field = "", parent = ""): boolean {
  if (wanted === undefined) return true;
  if (present === undefined || present === null) return isZero(wanted);
  if (Array.isArray(wanted)) return Array.isArray(present) && listHolds(present, wanted, field);
  if (isRecord(wanted)) {
    return (
      isRecord(present) &&
      Object.entries(wanted).every(([name, value]) => holds(present[name], value, name, field))
    );
  }
  if (jsonEqual(present, wanted)) return true;
  return (parent === "limits" || parent === "requests") && sameQuantity(present, wanted);
}

function listHolds(present: readonly unknown[], wanted: readonly unknown[], field: string): boolean {
  const key = listKeys[field];
  if (key !== undefined && wanted.length > 0) {
    const items = present.filter(isRecord);
    return wanted
      .filter(isRecord)
      .every((item) => items.some((other) => other[key] === item[key] && holds(other, item)));
  }
  return present.length === wanted.length && wanted.every((item, index) => holds(present[index], item));
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isRecord(value)) return Object.values(value).every(isZero);
  return value === false || value === 0 || value === "" || value === null || value === undefined;
}
