/** The agent's CPU time for one status, of both kinds in turn. */
import { setTimeout as sleep } from "node:timers/promises";
import { inParallel } from "../harness/api.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { answer, type BoundKind, create } from "./bound-kind.ts";

/** How much is looked at. */
export interface AgentTimeOptions {
  /** Claims of each kind. */
  readonly statuses: number;
  readonly rounds: number;
}

/** After the last status the agent still gets the event of its own write. */
const settleMs = 500;

/** Milliseconds of CPU time for each status: one list for each kind, with one figure for each round. The first round warms up. */
export async function measureAgentTime(
  kinds: readonly BoundKind[],
  { statuses, rounds }: AgentTimeOptions,
): Promise<readonly (readonly number[])[]> {
  const names = Array.from({ length: statuses }, (_, index) => `time-${index}`);
  for (const bound of kinds) await inParallel(names, (name) => create(bound, name));
  const times: number[][] = kinds.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? kinds : kinds.toReversed();
    for (const bound of order) {
      const before = cpuSecondsOf(bound.world.agent.pid);
      await inParallel(names, (name) => answer(bound, name, round + 1));
      await sleep(settleMs);
      const milliseconds = ((cpuSecondsOf(bound.world.agent.pid) - before) * 1000) / statuses;
      if (round > 0) times[kinds.indexOf(bound)]?.push(milliseconds);
    }
  }
  return times;
}
