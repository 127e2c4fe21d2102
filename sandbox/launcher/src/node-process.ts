/** Runs one of Klutch's own programs with the Node that runs the sandbox. */
import { konnectorRuntime } from "@klutch/api";
import { ownProgram, type ProcessOptions } from "@klutch/engines";

/** Returns how to start one of them. */
export function appProcess(
  app: string,
  options: Omit<ProcessOptions, "command" | "args" | "name"> & {
    readonly args?: readonly string[];
    readonly name?: string;
  },
): ProcessOptions {
  const { args = [], name = app, env, ...rest } = options;
  return {
    ...rest,
    name,
    command: process.execPath,
    // As in the shipped manifests: keeps memory close to the used amount.
    env: { ...konnectorRuntime, ...env },
    args: [ownProgram(app), ...args],
  };
}
