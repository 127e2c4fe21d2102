/** Runs kubectl as an operator does, for what people see in its tables. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { resolveEngine } from "@klutch/engines";
import type { TestCluster } from "./cluster.ts";

/** Runs one command line; gives back what it prints. */
export type Kubectl = (...args: readonly string[]) => Promise<string>;

/** Prepares kubectl as the cluster's administrator. Its files go with the stack. */
export async function startKubectl(stack: AsyncDisposableStack, cluster: TestCluster): Promise<Kubectl> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-kubectl-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const command = await resolveEngine("kubectl");
  const run = promisify(execFile);
  const cache = `--cache-dir=${join(folder, "cache")}`;
  return async (...args) => (await run(command, ["--kubeconfig", kubeconfig, cache, ...args])).stdout;
}
