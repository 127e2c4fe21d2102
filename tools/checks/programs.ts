/** The rules that a program of node_modules/.bin holds: format, lint and types. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { repositoryRoot } from "../root.ts";
import type { Check } from "./check.ts";

export const programChecks: readonly Check[] = [
  {
    name: "format",
    rule: "all files are formatted",
    advice: "npm run format",
    find: async () => {
      const output = await outputOnFailure("biome", "format", "--colors=off", "--max-diagnostics=none", ".");
      return output.flatMap(unformattedFiles);
    },
  },
  {
    name: "lint",
    rule: "the linter finds nothing",
    advice: "change the code as each message says; the rules stand in .oxlintrc.json",
    find: () => outputOnFailure("oxlint", "--type-aware", "--deny-warnings", "."),
  },
  {
    name: "types",
    rule: "all types check",
    advice: "change the code as each message says",
    find: () => outputOnFailure("tsc", "--noEmit", "--pretty", "false", "-p", "."),
  },
];

/** All that the program printed when it did not succeed, else nothing. Rejects when it cannot be started. */
export async function outputOnFailure(
  program: string,
  ...args: readonly string[]
): Promise<readonly string[]> {
  const child = spawn(join(repositoryRoot, "node_modules", ".bin", program), args, {
    cwd: repositoryRoot,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const [code, output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code === 0) return [];
  return [`${output}${errors}`.trim() || `${program} ended with exit code ${code} and printed nothing`];
}

/** The files that the formatter would change, by path; all that it said when that is not the only thing it found. */
export function unformattedFiles(output: string): readonly string[] {
  const headings = [...output.matchAll(/^(\S+) (\w+) ━{5,}/gm)];
  const files = headings.filter(([, , kind]) => kind === "format").map(([, path = ""]) => path);
  return headings.length > 0 && files.length === headings.length ? files : [output];
}
