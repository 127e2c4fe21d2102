/** Runs the signing programs that the publisher of a release names; this tool never sees a key. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ReleaseError } from "./errors.ts";

const run = promisify(execFile);

/** Signs the manifest with that digest in an OCI layout. Throws when it cannot. */
export type Sign = (layout: string, digest: string, name: string) => Promise<void>;

/** Returns what runs the program with the layout's folder, the digest and the image's name. It may add signatures to the layout. */
export function signWith(program: string): Sign {
  return (...args) => runSigner({ flag: "--sign-command", program, args, signed: `${args[2]}@${args[1]}` });
}

/** A program that signs one thing. */
export interface Signer {
  /** The flag that names the program, for messages. */
  readonly flag: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Name of the signed object in messages. */
  readonly signed: string;
}

/** Runs it without a shell. Throws `ReleaseError` with what it wrote to its standard error, else with why it could not be run. */
export async function runSigner({ flag, program, args, signed }: Signer): Promise<void> {
  try {
    await run(program, args);
  } catch (cause) {
    const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
    const reason = said === "" && cause instanceof Error ? cause.message : said;
    throw new ReleaseError(`${flag}: ${program} did not sign ${signed}: ${reason}`, { cause });
  }
}
