/** Asks whether this machine can run real nodes. */
import { type NodeFactsOptions, readNodeFacts } from "./node-facts.ts";
import { type NodePlan, nodeProblems, nodeRefusal } from "./node-problems.ts";

/**
 * Everything that this machine lacks for them, in one text; undefined when they can be started. Takes well below a second and changes
 * nothing, so it is asked before anything is obtained or started, and by tests that are skipped without it.
 */
export async function whyNoNodes(options: NodeFactsOptions & NodePlan): Promise<string | undefined> {
  return nodeRefusal(nodeProblems(await readNodeFacts(options), options));
}
