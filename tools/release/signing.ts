/** Runs the signing programs that the publisher of a release names; this tool never sees a key. */
import { run } from "@klutch/engines";
import { textAt } from "@klutch/kube-core";
import { ReleaseError } from "./errors.ts";

/** Signs the manifest with that digest in an OCI layout. Throws when it cannot. */
export type Sign = (layout: string, digest: string, name: string) => Promise<void>;

/** Returns what runs the program with the layout's folder, the digest and the image's name. It may add signatures to the layout. */
export function signWith(program: string): Sign {
  return (...args) => runSigner("--sign-command", program, args, `${args[2]}@${args[1]}`);
}

/**
 * Runs the program of a flag without a shell; `signed` is the name of what it signs. Throws `ReleaseError` with what it wrote to its standard error, else
 * with why it could not be run.
 */
export async function runSigner(
  flag: string,
  program: string,
  args: readonly string[],
  signed: string,
): Promise<void> {
  try {
    await run(program, args);
  } catch (cause) {
    const reason = textAt(cause, "stderr")?.trim() ?? textAt(cause, "message");
    throw new ReleaseError(`${flag}: ${program} did not sign ${signed}: ${reason}`, { cause });
  }
}
