/** Credentials of a broker as keys of a Secret. */
import { isRecord } from "@klutch/kube-core";

/**
 * Nested objects joined with `.`, other characters than letters, digits, `-`, `_` and `.` replaced by `_`. Lists of plain values keep
 * the existing form `[a b]`; numbers and everything else are printed without loss.
 */
export function flattenCredentials(
  credentials: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const flat = new Map<string, string>();
  flattenInto(flat, "", credentials);
  // A root key whose value stands again under the same last name in a nested object says nothing new.
  const nested = [...flat].filter(([key]) => key.includes("."));
  const repeated = [...flat].filter(
    ([key, value]) =>
      !key.includes(".") && nested.some(([other, same]) => other.endsWith(`.${key}`) && same === value),
  );
  for (const [key] of repeated) flat.delete(key);
  return Object.fromEntries(flat);
}

function flattenInto(
  flat: Map<string, string>,
  prefix: string,
  value: Readonly<Record<string, unknown>>,
): void {
  for (const [name, field] of Object.entries(value)) {
    const key = `${prefix}${name.replaceAll(/[^-._a-zA-Z0-9]/g, "_")}`;
    if (field === null || field === undefined) continue;
    if (isRecord(field)) flattenInto(flat, `${key}.`, field);
    else flat.set(key, printed(field));
  }
}

function printed(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return `[${value.map(String).join(" ")}]`;
  return JSON.stringify(value);
}
