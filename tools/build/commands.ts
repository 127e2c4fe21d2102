/** The commands for people, as files that run from anywhere: a launcher for each name, and one bundle beside them. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleApp } from "./bundle.ts";

/** Names of the commands; the program tells them apart by the file it was started as. */
export const commandNames = ["kubectl-bind", "klutch"] as const;

/** Oldest Node that has what the bundle uses. */
export const oldestNode = 24;

const bundleName = "klutch-cli.mjs";

/** Asked before the bundle is read: an older Node would fail with an error of syntax. Plain enough for any Node. */
function launcher(name: string): string {
  return `#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) < ${oldestNode}) {
  console.error("${name} needs Node ${oldestNode} or newer, and this is Node " + process.versions.node + ": install a newer one, or put it first in PATH.");
  process.exitCode = 1;
} else {
  import("./${bundleName}");
}
`;
}

/** Writes them into the folder; gives back the launchers' paths. */
export async function buildCommands(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  await bundleApp("cli", join(folder, bundleName));
  return Promise.all(
    commandNames.map(async (name) => {
      const path = join(folder, name);
      await writeFile(path, launcher(name));
      await chmod(path, 0o755);
      return path;
    }),
  );
}
