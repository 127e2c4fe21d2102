/** Words of a stranger, made fit for a table: one line, bounded, without control characters and markup. */

/** Returns the text in one line of at most `limit` characters; "" when it is no text. */
export function withoutMarkup(value: unknown, limit: number): string {
  if (typeof value !== "string") return "";
  const line = value
    .slice(0, limit * 8)
    .replaceAll(/<[^<>]*>/g, " ")
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join("")}…`;
}

/** Shows a value in a message: quoted, in one line, and short. */
export function shownValue(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return JSON.stringify(withoutMarkup(value, 80));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return JSON.stringify(value) ?? typeof value;
}
