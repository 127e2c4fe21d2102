/** The one guard that reads of foreign JSON begin with. */

/** Returns true if `value` is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
