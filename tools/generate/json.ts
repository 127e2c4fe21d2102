/** Reading JSON whose shape our own printers guarantee; what is not there is empty. */

export type Json = Readonly<Record<string, unknown>>;

export function asRecord(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

export function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asRecord) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
