/** Tells whether this machine can have nodes. */
import { tmpdir } from "node:os";
import { whyNoNodes } from "@klutch/engines";
import { ownHierarchies } from "./cgroups.ts";
import { NodeError } from "./errors.ts";

/** Returns everything that it lacks for this number of clusters, default one, in one text; undefined when they can be started. Changes nothing. */
export async function whyUnfit(clusters = 1): Promise<string | undefined> {
  const refusal = await whyNoNodes({ folder: tmpdir(), clusters });
  if (refusal !== undefined) return refusal;
  try {
    await ownHierarchies();
    return undefined;
  } catch (error) {
    if (error instanceof NodeError) return error.message;
    throw error;
  }
}

/** Throws `NodeError` Unfit with everything that the machine lacks. */
export async function requireFitness(clusters: number): Promise<void> {
  const refusal = await whyUnfit(clusters);
  if (refusal !== undefined) throw new NodeError("Unfit", refusal);
}
