/**
 * Names that strangers choose for themselves and their clusters, for operators to read in tables. They never decide who someone is: two
 * people or two clusters may have the same one.
 */
import { plainText } from "@klutch/kube-core";

/** The longest name, in UTF-16 units. */
export const displayNameLimit = 128;

/**
 * Returns the name on one line, without control characters and without runs of spaces, which would look like columns; cut at
 * `displayNameLimit`. Returns undefined if the value is no text, or nothing is left of it.
 */
export function displayName(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  // The first cut keeps a long text from costing time; the second one counts.
  const line = plainText(value, 8 * displayNameLimit)
    .replace(/[\s\u2800]+/gu, " ")
    .trim();
  const name = plainText(line, displayNameLimit);
  return name === "" || name === "…" ? undefined : name;
}
