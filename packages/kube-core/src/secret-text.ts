import { isRecord } from "./is-record.ts";
import type { DynamicObject } from "./object.ts";

/** Text of a Secret's key; undefined when the key is absent, empty or no text. */
export function secretText(secret: DynamicObject | undefined, key: string): string | undefined {
  const data = secret?.["data"];
  const value = isRecord(data) ? data[key] : undefined;
  return typeof value === "string" && value !== ""
    ? Buffer.from(value, "base64").toString("utf8")
    : undefined;
}
