/** Obtains every upstream server before the first test needs one, so that no test waits for a compiler. */
import { engineNames, resolveEngines } from "@klutch/engines";

/** Resolves all engines, printing progress. */
export async function ensureEngines(): Promise<void> {
  const started = performance.now();
  await resolveEngines(engineNames, { progress: (line) => console.log(line) });
  console.log(`Engines ready in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
