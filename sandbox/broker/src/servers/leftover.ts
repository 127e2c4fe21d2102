/** What a broker that was killed while it replaced data left beside the present ones. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { endLeftover, forget } from "./process-identity.ts";

/** In the home: what the hidden server reads that takes the new data. */
export const hiddenHome = "filling";

/** Ends a hidden server that a killed broker left, and removes all data but the present ones. */
export async function removeLeftover(home: string, present: string): Promise<void> {
  await endLeftover(join(home, hiddenHome));
  await forget(join(home, hiddenHome));
  for (const name of await readdir(home))
    if (name === hiddenHome || (name.startsWith("data-") && name !== present))
      await rm(join(home, name), { recursive: true, force: true });
}
