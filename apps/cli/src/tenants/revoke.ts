/** Parts that the commands of `klutch revoke` share: flags, the question before anything is written, and the end of Grants. */
import { type Grant, grants } from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { CommonOptions } from "../options.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { waitFor } from "../wait.ts";

/** Flags of each of them. */
export interface RevokeOptions extends CommonOptions {
  /** Do not ask. */
  readonly yes: boolean;
}

/** Ends a message about something that was refused before anything was written. */
export const untouched = "Nothing was changed in the control plane.";

/** Says what would be done, then asks. Returns false for a dry run. Throws `CliError` Cancelled without a yes. */
export async function isConfirmed(
  { terminal }: CliContext,
  steps: readonly string[],
  { dryRun, yes }: Pick<RevokeOptions, "dryRun" | "yes">,
): Promise<boolean> {
  terminal.say(`This will\n${steps.map((step) => `  - ${step}`).join("\n")}`);
  if (dryRun) {
    terminal.say("Dry run: nothing was changed.");
    return false;
  }
  if (yes) return true;
  const answer = terminal.interactive ? await terminal.confirm("Continue?") : await typedAnswer(terminal);
  if (answer === true) return true;
  const hint = answer === undefined ? " Pass --yes to go on without a question." : "";
  throw new CliError("Cancelled", `Not confirmed. ${untouched}${hint}`);
}

async function typedAnswer(terminal: CliContext["terminal"]): Promise<boolean | undefined> {
  terminal.say("Continue? [No,Yes]");
  const line = await terminal.readLine();
  return line === undefined ? undefined : /^y(es)?$/i.test(line.trim());
}

/** Deletes Grants, and waits until the backend has revoked by them. */
export async function endGrants(
  context: CliContext,
  { client }: ControlPlane,
  doomed: readonly Grant[],
  options: Pick<RevokeOptions, "timeoutMs">,
): Promise<void> {
  const { signal } = context;
  for (const { metadata } of doomed) {
    const { namespace, name = "", uid } = metadata;
    try {
      await client.delete(grants, { namespace, name }, { preconditions: { uid }, signal });
    } catch (cause) {
      if (!isForbidden(cause)) throw cause;
      throw new CliError(
        "Conflict",
        `Grant ${namespace}/${name} may not be deleted with these credentials.`,
        { cause },
      );
    }
  }
  const problem = (): string =>
    "the backend has not finished, so access may go on. Check that a backend of this release runs; it revokes as soon as it does.";
  for (const { metadata } of doomed) {
    const { namespace, name = "", uid } = metadata;
    await waitFor(
      context,
      { what: `Grant ${namespace}/${name} to be revoked`, timeoutMs: options.timeoutMs, problem },
      async () => {
        const found = await client.find<Grant>(grants, { namespace, name }, { signal });
        return found === undefined || found.metadata.uid !== uid ? true : undefined;
      },
    );
  }
}

/** Returns those of `doomed` whose API has no other Grant in their tenant. */
export function lastOnes(all: readonly Grant[], doomed: readonly Grant[]): readonly Grant[] {
  const kept = all.filter((grant) => !doomed.includes(grant));
  const keyOf = ({ metadata, spec }: Grant): string =>
    JSON.stringify([metadata.namespace, spec.api.resource, spec.api.group ?? ""]);
  const left = new Set(kept.map(keyOf));
  return doomed.filter((grant) => !left.has(keyOf(grant)));
}
