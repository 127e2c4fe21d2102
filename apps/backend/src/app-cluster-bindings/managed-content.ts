/** Whether a live object still has what was applied to it, although the server completed and normalised it. */
import { isRecord, jsonEqual } from "@klutch/kube-core";
import { listKeys } from "./strategic-merge.ts";

/**
 * Every field of `wanted` stands in `present`: fields and items that others or the server added do not count, quantities are compared
 * as numbers, and what is empty, zero or false may be absent, because the server leaves such fields out.
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

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

function sameQuantity(left: unknown, right: unknown): boolean {
  const [a, b] = [quantityOf(left), quantityOf(right)];
  return a !== undefined && b !== undefined && Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

/** A resource.Quantity as a number; undefined for anything else. */
export function quantityOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(
    typeof value === "string" ? value : "",
  );
  if (match === null) return undefined;
  return Number(match[1]) * (suffixes[match[2] ?? ""] ?? 1);
}
