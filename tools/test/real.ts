/** Runs test files on real servers, with the engines and the pool of clusters that they need. */
import { availableParallelism } from "node:os";
import { ClusterPool, poolVariable } from "@klutch/kube-testing";
import { ensureChromium } from "./chromium.ts";
import { ensureEngines } from "./engines.ts";
import { processesFor } from "./files.ts";
import { lanesOf, runStage, type StageResult } from "./stage.ts";

/** Obtains what the files need, then runs them; more of them at once after `computing`, which takes all time that they leave. */
export async function runReal(
  name: string,
  files: readonly string[],
  computing?: Promise<unknown>,
): Promise<StageResult> {
  await ensureEngines(files);
  if (files.some((file) => /browser|docs\/site/.test(file))) ensureChromium();
  await using pool = await ClusterPool.open();
  const { whole, other } = processesFor(files);
  const lanes = [
    // A whole installation has a dozen servers of its own: more of them at once than there are cores only wait for each other.
    ...lanesOf(availableParallelism(), whole, other),
    // Other tests mostly wait for a server, so two more of them keep the cores busy.
    ...lanesOf(2, other, whole),
  ];
  const late = computing === undefined ? undefined : { after: computing, lanes: lanesOf(2, other, whole) };
  const result = await runStage(name, lanes, { late, env: { [poolVariable]: pool.socket } });
  const { started, lent } = pool.counts;
  if (lent > 0) console.log(`${lent} leases of ${started} clusters.`);
  return result;
}
