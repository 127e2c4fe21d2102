/** JSON text whose int64 numbers are kept as they are. The only file of this package that uses `as`. */

/** A whole number of 16 digits or more: it may not fit a double. May also match inside a string, which only costs time. */
const longNumber = /[[:,]\s*-?\d{16}/;

/** Returns true for text that `parseExactJson` parses the slow way: by recursion, in three times the memory and ten times the time. */
export function hasLongNumber(text: string): boolean {
  return longNumber.test(text);
}

const wholeNumber = /^-?\d+$/;

/** Parts of the JSON text access proposal that the compiler's library does not know. */
const exactJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

/**
 * Parses JSON text. A whole number that a double cannot hold (int64 beyond 2^53) becomes a frozen raw value that `JSON.stringify` prints
 * digit by digit, so that an object can be forwarded unchanged; do not compute with it. Throws `SyntaxError` for text that is not JSON.
 */
export function parseExactJson(text: string): unknown {
  if (!hasLongNumber(text)) return JSON.parse(text);
  return exactJson.parse(text, (_key, value, { source = "" }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && wholeNumber.test(source)
      ? exactJson.rawJSON(source)
      : value,
  );
}
