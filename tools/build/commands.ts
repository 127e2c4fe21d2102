/** The commands for people, as files that run from anywhere: a launcher for each name, and one bundle beside them. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleApp } from "./bundle.ts";

/** Names of the commands; the program tells them apart by the file it was started as. */
export const commandNames = ["kubectl-bind", "klutch"] as const;

/** Oldest Node that has what the bundle uses. */
export const oldestNode = 24;

const bundleName = "klutch-cli.mjs";

/**
 * Asked before the bundle is read: an older Node would fail with an error of syntax, so the Node of the build takes over, as long as it is
 * there. Plain enough for any Node.
 */
function launcher(name: string, node: string): string {
  return `#!/usr/bin/env node
function takeOver(fs, child) {
  if (!fs.existsSync(${JSON.stringify(node)})) {
    console.error("${name} needs Node ${oldestNode} or newer, and this is Node " + process.versions.node + ": install a newer one, or put it first in PATH.");
    process.exitCode = 1;
    return;
  }
  const own = child.spawn(${JSON.stringify(node)}, process.argv.slice(1), { stdio: "inherit" });
  // Ctrl-C reaches both; a plain kill reaches this process only.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => own.kill("SIGTERM"));
  own.on("exit", (code, signal) => { process.exitCode = signal === null ? code : signal === "SIGINT" ? 130 : 143; });
}
if (Number(process.versions.node.split(".")[0]) < ${oldestNode})
  Promise.all([import("node:fs"), import("node:child_process")]).then(([fs, child]) => takeOver(fs, child));
else import("./${bundleName}");
`;
}

/** Writes them into the folder; gives back the launchers' paths. `node` runs them where the user's own Node is too old. */
export async function buildCommands(
  folder: string,
  node: string = process.execPath,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  await bundleApp("cli", join(folder, bundleName));
  return Promise.all(
    commandNames.map(async (name) => {
      const path = join(folder, name);
      await writeFile(path, launcher(name, node));
      await chmod(path, 0o755);
      return path;
    }),
  );
}
