/** The rules that a program of node_modules/.bin holds: format, lint and types. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { repositoryRoot } from "../root.ts";
import type { Finders } from "./check.ts";

export const programChecks: Finders = {
  format: () => outputOnFailure("biome", "format", "--colors=off", "--reporter=summary", "."),
  lint: () => outputOnFailure("oxlint", "--type-aware", "--deny-warnings", "."),
  types: async () => {
    const programs = [".", "apps/console"];
    const outputs = programs.map((path) =>
      outputOnFailure("tsc", "--noEmit", "--pretty", "false", "-p", path),
    );
    return (await Promise.all(outputs)).flat();
  },
};

/** Returns all that the program printed when it did not succeed, else nothing. Rejects when it cannot be started. */
export async function outputOnFailure(
  program: string,
  ...args: readonly string[]
): Promise<readonly string[]> {
  const child = spawn(join(repositoryRoot, "node_modules", ".bin", program), args, {
    cwd: repositoryRoot,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  const [[code], output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code === 0) return [];
  return [`${output}${errors}`.trim() || `${program} ended with exit code ${code} and printed nothing`];
}
