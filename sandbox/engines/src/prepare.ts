/** Steps with programs of the machine that turn what was fetched into a server. */
import { EngineError, run, textOf, wordsOf } from "./environment.ts";

/** Runs one step for a server, such as `keycloak 26.4.0`. */
export type Prepare = (
  needed: string,
  command: string,
  args: readonly string[],
  cwd?: string,
) => Promise<void>;

/** Returns the function that runs the steps of this server. It throws an `EngineError` that names the needed program and its first words. */
export function preparing(server: string): Prepare {
  return async (needed, command, args, cwd) => {
    try {
      await run(command, args, { ...(cwd === undefined ? {} : { cwd }), maxBuffer: 64 * 1024 * 1024 });
    } catch (cause) {
      // Maven prints its faults to stdout.
      const words = textOf(cause, "stdout").trim().split("\n").slice(0, 3).join("; ") || wordsOf(cause);
      throw new EngineError(
        "BuildFailed",
        `${server} cannot be prepared, for which ${needed} is needed: ${words}`,
        { cause },
      );
    }
  };
}
