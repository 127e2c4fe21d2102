/** Sets V8's memory flags for our programs; no other code sets them from inside. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The young generation is small: one thread collects it with less CPU time than several (proof/bench/RESULTS.md). NODE_OPTIONS has no word for it. */
export function tuneMemory(): void {
  setFlagsFromString("--no-parallel-scavenge");
}

/** V8's collector, which scripts see only in contexts made after its flag was set; the flag may be set while running. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  // Only the last resort also gives the freed pages back.
  runInNewContext('gc({ type: "major", execution: "sync", flavor: "last-resort" })');
}
