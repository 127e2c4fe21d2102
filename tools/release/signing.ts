/** Signatures are made by a program that whoever releases names: keys are no business of this tool. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ReleaseError } from "./errors.ts";

const run = promisify(execFile);

/** Signs what stands in an OCI layout under that digest. Throws when it does not. */
export type Sign = (layout: string, digest: string, name: string) => Promise<void>;

/**
 * Runs the program with the layout's folder, the digest and the image's name as its arguments, without a shell. It may add signatures to the
 * layout. Throws `ReleaseError` when it fails.
 */
export function signWith(program: string): Sign {
  return async (layout, digest, name) => {
    try {
      await run(program, [layout, digest, name]);
    } catch (cause) {
      const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
      const reason = said === "" && cause instanceof Error ? cause.message : said;
      throw new ReleaseError(`--sign-command: ${program} did not sign ${name}@${digest}: ${reason}`, {
        cause,
      });
    }
  };
}
