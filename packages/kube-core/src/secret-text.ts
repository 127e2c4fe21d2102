import type { DynamicObject } from "./object.ts";
import { textAt } from "./value-at.ts";

/** Text of a Secret's key; undefined when the key is absent, empty or no text. */
export function secretText(secret: DynamicObject | undefined, key: string): string | undefined {
  const value = textAt(secret, "data", key);
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}
