/**
 * One world with many claims, in which several cases follow each other: initial synchronisation, memory, idling, restart, useless
 * writes, foreign Secrets. As the shipped `servicebindings` template, the export claims Secrets that the provider owns.
 */
import { canary } from "../harness/latency-probe.ts";
import { createNamespaces, providerOwned, startBenchWorld } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";
import { claimNamespaces, claimRefs, createClaims } from "./claims.ts";
import { measureIdle } from "./idle.ts";
import { measureInitial } from "./initial.ts";
import { measureForeignSecrets, measureSettledMemory } from "./memory.ts";
import { measureNoop } from "./noop.ts";
import { measureRestart } from "./restart.ts";

export const settledCase: BenchCase = { serves: ["initial", "memory", "idle", "restart", "noop"], run };

async function run(context: BenchContext): Promise<void> {
  const { agent, sizes, random, say, wants } = context;
  await using world = await startBenchWorld({ agent, permissionClaims: [providerOwned("secrets")] });
  await canary(world, { random, bytes: sizes.specBytes });
  // The API is bound; now the claims come while no agent runs.
  await world.agent.stop();
  const refs = claimRefs(sizes.claims);
  await createNamespaces(world.consumer.api, claimNamespaces(sizes.claims));
  const startedAt = performance.now();
  await createClaims(world, refs, random, sizes.specBytes);
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${refs.length} claims of ${sizes.specBytes} bytes made in ${seconds.toFixed(1)} s`);
  const settled = { world, refs };
  await measureInitial(context, settled);
  if (wants("memory")) await measureSettledMemory(context, settled);
  if (wants("idle")) await measureIdle(context, settled);
  if (wants("restart")) await measureRestart(context, settled);
  if (wants("noop")) await measureNoop(context, settled);
  if (wants("memory")) await measureForeignSecrets(context, settled);
}
