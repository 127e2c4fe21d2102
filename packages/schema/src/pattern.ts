/**
 * Regular expressions of schemas, in the language and with the promise of the API server's own engine (RE2): a match takes time in
 * proportion to the text, whatever the pattern is. The platform's engine can take for ever.
 */
import { RE2JS } from "re2js";
import type { Effort } from "./effort.ts";

/** Longer ones are not read: no API needs them, and their programs are large. */
const lengthLimit = 4_096;

/** A pattern that was read; undefined for one that is none, or too long a one. */
export type Pattern = { matches(text: string, effort: Effort): boolean } | undefined;

/** Reads a pattern. */
export function patternOf(source: string, effort: Effort): Pattern {
  if (source.length > lengthLimit) return undefined;
  effort.spend(50 + 10 * source.length);
  const program = compiled(source);
  if (program === undefined) return undefined;
  const perCharacter = Math.max(1, program.programSize()) / 100;
  return {
    matches(text, used) {
      used.spend(1 + text.length * perCharacter);
      return program.test(text);
    },
  };
}

/** Returns true if the API server's engine accepts the text as a regular expression. */
export function isPattern(source: string): boolean {
  return source.length <= lengthLimit && compiled(source) !== undefined;
}

function compiled(source: string): RE2JS | undefined {
  try {
    return RE2JS.compile(source);
  } catch {
    // The API server does not read it either.
    return undefined;
  }
}
