/**
 * One fixture with many claims, in which several cases follow each other: initial synchronisation, memory, idling, restart, useless
 * writes, foreign Secrets. Like the shipped `servicebindings` template, the export claims Secrets that the provider owns.
 */
import { type ClaimRef, Claims, spreadRefs } from "../harness/claims.ts";
import { type BenchFixture, providerOwned, startBenchFixture } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";
import { measureIdle } from "./idle.ts";
import { measureInitial } from "./initial.ts";
import { measureForeignSecrets, measureSettledMemory } from "./memory.ts";
import { measureNoop } from "./noop.ts";
import { measureRestart } from "./restart.ts";

/** Cases `initial`, `memory`, `idle`, `restart` and `noop`. */
export async function measureSettled(context: BenchContext): Promise<void> {
  const { agent, wants } = context;
  await using fixture = await startBenchFixture({ agent, permissionClaims: [providerOwned("secrets")] });
  const settled = { fixture, refs: await sendWhileStopped(context, fixture) };
  await measureInitial(context, settled);
  if (wants("memory")) await measureSettledMemory(context, settled);
  if (wants("idle")) await measureIdle(context, settled);
  if (wants("restart")) await measureRestart(context, settled);
  if (wants("noop")) await measureNoop(context, settled);
  if (wants("memory")) await measureForeignSecrets(context, settled);
}

/** The API is bound; now the claims come while no agent runs. */
async function sendWhileStopped(context: BenchContext, fixture: BenchFixture): Promise<readonly ClaimRef[]> {
  const { sizes, say } = context;
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
  await fixture.agent.stop();
  const refs = await spreadRefs(fixture, sizes.claims);
  const startedAt = performance.now();
  await claims.send(refs);
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${refs.length} claims of ${sizes.specBytes} bytes made in ${seconds.toFixed(1)} s`);
  return refs;
}
