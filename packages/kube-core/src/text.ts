/**
 * Text that another party wrote, made fit for a terminal, an event or a condition. Control characters move the cursor, change colours
 * and titles or answer questions; bidirectional and invisible ones make a name look like another one.
 *
 * | for | function | such a character becomes |
 * |---|---|---|
 * | objects: conditions, events | `plainText` | a space |
 * | a status that is copied | `harmlessText` | a space; line ends and tabs stay, and nothing is cut |
 * | a terminal | `printable`, `printableLines` | an escape as in JSON, so JSON still means the same and two names stay two |
 */

/** Control and format characters (tags too), line separators, halves of pairs, characters without a meaning or without ink. */
const unseemly = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0]/gu;
const runs = new RegExp(`(?:${unseemly.source})+`, "gu");
const runsInLines = new RegExp(`[${unseemly.source}--[\\n\\t]]+`, "gv");
const shortForms: Readonly<Record<string, string>> = {
  "\n": String.raw`\n`,
  "\r": String.raw`\r`,
  "\t": String.raw`\t`,
};

/** Longest piece of foreign text in one of our lines. */
const defaultMaxLength = 1000;

/** The text on one line, without control characters, and not longer than `limit` characters. Default 1024. */
export function plainText(text: string, limit = 1024): string {
  // Text that is cut off anyway is not cleaned.
  const plain = text
    .slice(0, limit * 2)
    .toWellFormed()
    .replace(runs, " ")
    .trim();
  return plain.length <= limit && text.length <= limit * 2
    ? plain
    : `${plain.slice(0, limit - 1).toWellFormed()}…`;
}

/** The text without characters that do anything but break lines: the same text where there are none. */
export function harmlessText(text: string): string {
  return text.replace(runsInLines, " ");
}

/** Foreign text for a place inside a line: no character of it does anything, and it is cut after `maxLength` (1000) characters. */
export function printable(text: string, maxLength: number = defaultMaxLength): string {
  const cut =
    text.length > maxLength
      ? `${text.slice(0, maxLength)}… (${text.length - maxLength} more characters)`
      : text;
  return escape(cut);
}

/** The same for whole texts that we laid out: their line ends and tabs stay, and nothing is cut. */
export function printableLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 1 ? part : escape(part)))
    .join("");
}

function escape(text: string): string {
  return text.replaceAll(unseemly, (found) => shortForms[found] ?? unitsOf(found));
}

function unitsOf(text: string): string {
  return Array.from(
    { length: text.length },
    (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
