/** Case `distant`: the control plane is far away. What the agent has under way at once decides how many claims it gets there. */
import { prepareBurst } from "../harness/send-burst.ts";
import { formatPercentiles } from "../harness/statistics.ts";
import { startBenchWorld } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const distantCase: BenchCase = { serves: ["distant"], run };

/** There and back, as between continents. */
const wayMs = 250;

async function run({ agent, sizes, random, say, report, keep }: BenchContext): Promise<void> {
  await using world = await startBenchWorld({ agent, wayMs });
  const contents = { random, bytes: sizes.specBytes };
  await using prepared = await prepareBurst(world, sizes.distantBurst, contents);
  const burst = await prepared.send(sizes.timeoutMinutes * 60_000);
  const what = `burst of ${sizes.distantBurst} to a control plane ${wayMs} ms away`;
  say(`${what}: all upstream in ${burst.totalMs.toFixed(0)} ms; each: ${formatPercentiles(burst.each)}`);
  keep("distant", burst);
  report({ metric: `${what}: claims/s`, unit: "/s", value: (sizes.distantBurst * 1000) / burst.totalMs });
}
