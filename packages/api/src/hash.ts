/** Short, stable names from long ones. */
import { createHash } from "node:crypto";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** SHA-224 in base 62, as the wire contract uses it for identities and source hashes. */
export function base62Hash(text: string): string {
  let value = BigInt(`0x${createHash("sha224").update(text).digest("hex")}`);
  let digits = "";
  while (value > 0n) {
    digits = (alphabet[Number(value % 62n)] ?? "") + digits;
    value /= 62n;
  }
  return digits === "" ? "0" : digits;
}

/** JSON with sorted keys and without undefined fields: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : field,
  );
}

/** The longest DNS label (RFC 1123), hence the longest namespace name. */
export const maxLabelLength = 63;

/**
 * The name itself when it is short enough; otherwise its beginning and a hash of the whole, so that it stays readable, does not
 * change, and two long names never meet.
 */
export function boundedName(name: string, maxLength: number = maxLabelLength): string {
  if (name.length <= maxLength) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  return `${name.slice(0, maxLength - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
}
