/** Case `memory`: what the agent holds, when everything is synchronised and has been quiet for a while. */
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import { inParallel } from "../harness/api.ts";
import { untilQuiet } from "../harness/calls.ts";
import { type ClaimRef, Claims, spreadRefs } from "../harness/claims.ts";
import { type BenchFixture, startBenchFixture } from "../harness/fixture.ts";
import { memoryOf, type ProcessMemory } from "../harness/process-memory.ts";
import { randomBase64 } from "../harness/widget.ts";
import type { BenchContext } from "./case.ts";

/** Bytes in the spec of a large claim. */
const largeBytes = 200_000;

/** Secrets of users in the namespaces of claims, as many as claims: the agent has no business with them. */
export async function measureForeignSecrets(
  { random, say, report }: BenchContext,
  fixture: BenchFixture,
  refs: readonly ClaimRef[],
): Promise<void> {
  const before = await atRest(fixture);
  await inParallel(refs, ({ namespace, name }) => {
    const secret = secretObject(namespace, `foreign-${name}`, { key: randomBase64(random, 1500) });
    return fixture.consumer.api.create(secrets, secret);
  });
  // Does not wait until it is quiet: an agent that copies them would be busy for long.
  const after = await atRest(fixture);
  const { client } = fixture.provider.cluster;
  let copied = 0;
  for await (const { metadata } of client.listAll(secrets, { metadataOnly: true }))
    if (metadata.name?.startsWith("foreign-") === true) copied++;
  const what = `${refs.length} foreign Secrets`;
  say(`${what}: ${describe(before)} → ${describe(after)}, ${copied} copied upstream`);
  report(`RSS, growth by ${what}`, after.rss - before.rss, "MiB", { atMost: 5 });
  report(`${what}: copied to the provider`, copied, "", { atMost: 0 });
}

/** Few claims, but large ones, in a fixture of their own. */
export async function measureLargeClaims(context: BenchContext): Promise<void> {
  const { setUp, sizes, random } = context;
  await using fixture = await startBenchFixture(setUp);
  const contents = { random, bytes: largeBytes };
  await using claims = await Claims.watch(fixture, { contents, limitMs: sizes.timeoutMs });
  await claims.canary();
  const refs = await spreadRefs(fixture, sizes.largeClaims);
  await claims.sendAll(refs);
  await untilQuiet(fixture);
  await reportMemory(context, fixture, `${refs.length} claims × ${largeBytes}`, 250);
}

/** Reports the memory at rest, with `atMost` MiB as the target. */
export async function reportMemory(
  { say, report }: BenchContext,
  fixture: BenchFixture,
  claims: string,
  atMost: number,
): Promise<void> {
  const memory = await atRest(fixture);
  const what = `${claims} bytes`;
  say(`${what}: ${describe(memory)}`);
  report(`RSS, ${what}`, memory.rss, "MiB", { atMost });
  report(`peak RSS until then, ${what}`, memory.peak, "MiB");
}

/** A runtime gives memory back late. */
async function atRest(fixture: BenchFixture): Promise<ProcessMemory> {
  await sleep(15_000);
  return memoryOf(fixture.agent.pid);
}

function describe({ rss, peak }: ProcessMemory): string {
  return `RSS ${rss.toFixed(0)} MiB, peak ${peak.toFixed(0)}`;
}
