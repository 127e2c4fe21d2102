/** Crossplane's own Helm chart, from the source that the engines have. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { engineDefinition, resolveEngine } from "@klutch/engines";

const run = promisify(execFile);

/** Packs it into the folder; gives back the archive's path. */
export async function packCrossplaneChart(folder: string): Promise<string> {
  const program = await resolveEngine("crossplane");
  const version = engineDefinition("crossplane").version.replace(/^v/, "");
  const chart = join(dirname(program), "cluster/charts/crossplane");
  const args = ["package", chart, "--version", version, "--app-version", version, "--destination", folder];
  await run(await resolveEngine("helm"), args);
  return join(folder, `crossplane-${version}.tgz`);
}
