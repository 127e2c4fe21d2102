/** The flag --follow-updates. */
import { printable, type UpdateLine, updateLines } from "@klutch/api";
import { CliError } from "./errors.ts";

/** Value of --follow-updates: a line of versions, or the end of updates. */
export type FollowUpdates = UpdateLine | "none";

/** Reads the flag. Throws `CliError` naming it. */
export function followUpdatesOption(value: string | undefined): FollowUpdates | undefined {
  if (value === undefined) return undefined;
  const all: readonly FollowUpdates[] = [...updateLines, "none"];
  const found = all.find((one) => one === value);
  if (found !== undefined) return found;
  throw new CliError(
    "Usage",
    `--follow-updates is ${JSON.stringify(printable(value))}, must be one of ${all.join(", ")}.`,
  );
}
