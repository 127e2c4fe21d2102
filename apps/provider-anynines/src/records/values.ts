/** Reads and derives what annotations hold. */
import { createHash } from "node:crypto";

/** Parses JSON; undefined for anything else. */
export function parsedJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value if it is a text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the value if it is a number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Derives a UUID (version 8) from a text, the same each time. */
export function derivedId(seed: string): string {
  const hex = createHash("sha256").update(seed).digest("hex");
  const [version, variant] = [`8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [hex.slice(0, 8), hex.slice(8, 12), version, variant, hex.slice(20, 32)].join("-");
}
