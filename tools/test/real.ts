/** Runs test files on real servers, with the engines and the pool of clusters that they need. */
import { availableParallelism } from "node:os";
import { ClusterPool, poolVariable } from "@klutch/kube-testing";
import { ensureChromium } from "./chromium.ts";
import { ensureEngines } from "./engines.ts";
import { processesFor } from "./files.ts";
import { runStage, type StageResult } from "./stage.ts";

/** Obtains what the files need, then runs them. */
export async function runReal(name: string, files: readonly string[]): Promise<StageResult> {
  await ensureEngines(files);
  if (files.some((file) => file.includes("browser"))) ensureChromium();
  await using pool = await ClusterPool.open();
  const result = await runStage(name, processesFor(files), {
    // Tests on servers mostly wait, so two more than there are cores keep the cores busy.
    concurrency: availableParallelism() + 2,
    env: { [poolVariable]: pool.socket },
  });
  const { started, lent } = pool.counts;
  if (lent > 0) console.log(`${lent} leases of ${started} clusters.`);
  return result;
}
