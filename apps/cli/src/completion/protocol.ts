/**
 * How completions are printed: one candidate a line, a tab and its description behind it, and last a colon with a number that says what the
 * shell is to do. It is what kubectl reads from its plugins, and what cobra, the library of its commands, calls a directive.
 */
import type { Completion, FileNames } from "./completion.ts";

const noFileNames = 4;

/** By what the shell is to do. */
const directives = { none: noFileNames, files: 0, folders: 16 } as const satisfies Record<FileNames, number>;

/** What is printed. */
export function formatCompletion({ candidates, files }: Completion): string {
  const lines = candidates.map(({ value, description }) =>
    description === "" ? value : `${value}\t${description.replaceAll(/\s+/g, " ")}`,
  );
  return [...lines, `:${directives[files]}`, ""].join("\n");
}
