/** The environment variables the test command reads. */
import { join } from "node:path";
import { batchVariable, startedByVariable, watchFolderVariable } from "./watch-state.ts";

/** Path of the browser to use instead of searching for one. */
export const chromiumOverride: string | undefined = process.env["KLUTCH_CHROMIUM"];

/** Where programs are searched for. */
export const searchPath: string = process.env["PATH"] ?? "";

/** What this process passes on to test files, so that it can watch them. */
export function watchedEnvironment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, [watchFolderVariable]: folder };
}

/**
 * File in which a test file's process says that it makes progress; undefined in any other process. It is taken from the environment, so
 * that processes that this one starts do not take themselves for it; they are marked as its own instead.
 */
export function takeStateFile(): string | undefined {
  const folder = process.env[watchFolderVariable];
  // A runner of processes has loaded us, too.
  const runsTests =
    process.env["NODE_TEST_CONTEXT"] !== undefined || process.env[batchVariable] !== undefined;
  if (folder === undefined || !runsTests) return undefined;
  delete process.env[watchFolderVariable];
  const stateFile = join(folder, String(process.pid));
  process.env[startedByVariable] = stateFile;
  return stateFile;
}
