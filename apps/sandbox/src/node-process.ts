/** Runs one of Klutch's own programs with the Node that runs the sandbox. */
import { join } from "node:path";
import { konnectorRuntime } from "@klutch/api";
import type { ProcessOptions } from "@klutch/engines";

/** Folder of the apps. */
const apps = join(import.meta.dirname, "..", "..");

/** How to start `apps/<app>/src/main.ts`. */
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
    // As in the shipped manifests: it keeps memory close to what is in use.
    env: { ...konnectorRuntime, ...env },
    args: [join(apps, app, "src", "main.ts"), ...args],
  };
}
