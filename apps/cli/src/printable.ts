/**
 * Text of the other side as a terminal may show it. Control characters move the cursor, change colours and titles or answer
 * questions; bidirectional and invisible ones make a name look like another one. They are shown as escapes instead, in the form
 * of JSON, so JSON that went through here still means the same.
 */
import type { Terminal } from "./context.ts";

/** Control and format characters (bidirectional ones, tags), line separators, halves of pairs, letters without ink. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]/gu;
const shortForms: Readonly<Record<string, string>> = {
  "\n": String.raw`\n`,
  "\r": String.raw`\r`,
  "\t": String.raw`\t`,
};

/** Of a piece of foreign text in a line of ours. */
const defaultMaxLength = 1000;

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
  return text.replaceAll(unsafe, (found) => shortForms[found] ?? unitsOf(found));
}

function unitsOf(text: string): string {
  return Array.from(
    { length: text.length },
    (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** The terminal behind the last line of defence: whatever is printed, nothing of it steers the terminal. */
export function safeTerminal(terminal: Terminal): Terminal {
  return {
    ...terminal,
    out: (text) => terminal.out(printableLines(text)),
    say: (line) => terminal.say(printableLines(line)),
    waiting: (what) => terminal.waiting(printable(what)),
    confirm: (question) => terminal.confirm(printableLines(question)),
  };
}
