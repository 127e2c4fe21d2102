/** Collects the warnings about one catalog. */
import { withoutMarkup, shownValue } from "./plain-text.ts";

/** Tells that a field of the catalog is not taken as it is: the field, its value, and the consequence. */
export type Warn = (field: string, value: unknown, consequence: string) => undefined;

/** Most warnings that are kept; the rest is counted. */
const mostWarnings = 100;

/** Warnings in the order of the catalog, each once. */
export interface Notes {
  readonly warn: Warn;
  readonly list: () => readonly string[];
}

/** Starts without warnings. */
export function createNotes(): Notes {
  const kept = new Set<string>();
  let left = 0;
  return {
    warn(field, value, consequence) {
      const text = `${withoutMarkup(field, 200)} is ${shownValue(value)}: ${consequence}`;
      if (kept.size < mostWarnings) kept.add(text);
      else if (!kept.has(text)) left++;
      return undefined;
    },
    list: () => [...kept, ...(left === 0 ? [] : [`${left} more warnings of this catalog are not shown`])],
  };
}
