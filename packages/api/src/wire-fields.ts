/** Reading fields of objects that came from the other side. */

/** A wire object that is not what it should be; names the field. */
export class WireError extends Error {
  readonly code = "Wire";
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.name = "WireError";
    this.field = field;
  }
}

/** Throws `WireError`. */
export function record(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new WireError(field, "is not an object");
  return Object.fromEntries(Object.entries(value));
}

/** Throws `WireError`. */
export function array(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new WireError(field, "is not a list");
  return value;
}

/** A text that is not empty. Throws `WireError`. */
export function text(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "") throw new WireError(field, "is missing or not a string");
  return value;
}
