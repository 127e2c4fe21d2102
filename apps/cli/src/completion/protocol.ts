/**
 * Prints completions: one candidate per line with a tab and its description, and a last line with a colon and a number that tells the shell
 * about file names. kubectl reads this format from its plugins; cobra, its command library, calls the number a directive.
 */
import type { Completion, FileNames } from "./completion.ts";

const noFileNames = 4;

/** Directive for each kind of file names. */
const directives = { none: noFileNames, files: 0, folders: 16 } as const satisfies Record<FileNames, number>;

/** Returns the text to print. */
export function formatCompletion({ candidates, files }: Completion): string {
  const lines = candidates.map(({ value, description }) =>
    description === "" ? value : `${value}\t${description.replaceAll(/\s+/g, " ")}`,
  );
  return [...lines, `:${directives[files]}`, ""].join("\n");
}
