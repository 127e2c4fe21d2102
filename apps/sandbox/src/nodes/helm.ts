/** Helm, with nothing of the user's own settings. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { resolveEngine } from "@klutch/engines";

const run = promisify(execFile);

/** Runs Helm with these arguments and gives back what it prints. */
export type Helm = (...args: readonly string[]) => Promise<string>;

/** Helm for the cluster of a kubeconfig; what it remembers is in `folder`. Its errors have its words. */
export async function openHelm(kubeconfig: string, folder: string): Promise<Helm> {
  const helm = await resolveEngine("helm");
  const settings = [
    `--kubeconfig=${kubeconfig}`,
    `--registry-config=${join(folder, "registry.json")}`,
    `--repository-config=${join(folder, "repositories.yaml")}`,
    `--repository-cache=${join(folder, "repositories")}`,
  ];
  return async (...args) => (await run(helm, [...args, ...settings], { maxBuffer: 16 * 1024 * 1024 })).stdout;
}
