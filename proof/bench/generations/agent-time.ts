/** The agent's CPU time for one status, of both kinds in turn. */
import { setTimeout as sleep } from "node:timers/promises";
import { inParallel } from "../harness/api.ts";
import type { Claims } from "../harness/claims.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { answer, create } from "./bound-kind.ts";

/** After the last status the agent still gets the event of its own write. */
const settleMs = 500;

/** Returns milliseconds of CPU time for each of `statuses` claims: a list for each kind, with a figure for each round. The first round warms up. */
export async function measureAgentTime(
  kinds: readonly Claims[],
  statuses: number,
  rounds: number,
): Promise<readonly (readonly number[])[]> {
  const names = Array.from({ length: statuses }, (_, index) => `time-${index}`);
  for (const claims of kinds) await inParallel(names, (name) => create(claims, name));
  const times: number[][] = kinds.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? kinds : kinds.toReversed();
    for (const claims of order) {
      const { pid } = claims.fixture.agent;
      const before = cpuSecondsOf(pid);
      await inParallel(names, (name) => answer(round + 1)(claims, name));
      await sleep(settleMs);
      const milliseconds = ((cpuSecondsOf(pid) - before) * 1000) / statuses;
      if (round > 0) times[kinds.indexOf(claims)]?.push(milliseconds);
    }
  }
  return times;
}
