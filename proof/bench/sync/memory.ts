/** Case `memory`: what the agent holds, when everything is synchronised and has been quiet for a while. */
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import { inParallel } from "../harness/api.ts";
import { Claims, spreadRefs } from "../harness/claims.ts";
import { randomBase64 } from "../harness/contents.ts";
import { memoryOf, type ProcessMemory } from "../harness/process-memory.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { within } from "../harness/within.ts";
import { type BenchFixture, startBenchFixture } from "../harness/fixture.ts";
import type { BenchContext, Settled } from "./case.ts";

/** Seconds of rest before the agent is measured: a runtime gives memory back late. */
const restSeconds = 15;

/** Many claims of ordinary size. */
export async function measureSettledMemory(context: BenchContext, { fixture, refs }: Settled): Promise<void> {
  const what = `${refs.length} claims × ${context.sizes.specBytes} bytes`;
  const memory = await atRest(fixture);
  reportMemory(context, what, memory, 150);
}

/** Secrets of users in the namespaces of claims: the agent has no business with them. */
export async function measureForeignSecrets(
  context: BenchContext,
  { fixture, refs }: Settled,
): Promise<void> {
  const { sizes, random, say, report, keep } = context;
  const before = await atRest(fixture);
  const names = [...new Set(refs.map(({ namespace }) => namespace))];
  const items = Array.from({ length: sizes.foreignSecrets }, (_, index) => index);
  await inParallel(items, (index) => {
    const namespace = names[index % names.length] ?? "";
    const secret = secretObject(namespace, `foreign-${index}`, { key: randomBase64(random, 1500) });
    return fixture.consumer.api.create(secrets, secret);
  });
  // Does not wait until it is quiet: an agent that copies them would be busy for long.
  await sleep(restSeconds * 1000);
  const after = memoryOf(fixture.agent.pid);
  const copied = await copiesOf(fixture);
  say(
    `${sizes.foreignSecrets} foreign Secrets: ${describe(before)} → ${describe(after)}, ${copied} copied upstream`,
  );
  keep("foreignSecrets", { before, after, copied });
  const what = `${sizes.foreignSecrets} foreign Secrets`;
  report(`RSS, growth by ${what}`, after.rss - before.rss, "MiB", { atMost: 5 });
  report(`${what}: copied to the provider`, copied, "", { atMost: 0 });
}

async function copiesOf({ provider }: BenchFixture): Promise<number> {
  let count = 0;
  for await (const { metadata } of provider.cluster.client.listAll(secrets, { metadataOnly: true })) {
    if (metadata.name?.startsWith("foreign-") === true) count++;
  }
  return count;
}

/** Few claims, but large ones, in a fixture of their own. */
export async function measureLargeClaims(context: BenchContext): Promise<void> {
  const { agent, sizes, random } = context;
  await using fixture = await startBenchFixture({ agent });
  await using claims = await Claims.watch(fixture, { contents: { random, bytes: sizes.largeBytes } });
  await claims.canary();
  const refs = await spreadRefs(fixture, sizes.largeClaims);
  const arrivals = Promise.all(refs.map(({ upstreamKey }) => claims.onProvider.seen(upstreamKey)));
  await claims.send(refs);
  await within(arrivals, sizes.timeoutMinutes * 60_000, "the large claims to arrive", fixture.problem);
  await untilQuiet(fixture);
  reportMemory(context, `${refs.length} claims × ${sizes.largeBytes} bytes`, await atRest(fixture), 250);
}

async function atRest(fixture: BenchFixture): Promise<ProcessMemory> {
  await sleep(restSeconds * 1000);
  return memoryOf(fixture.agent.pid);
}

function reportMemory(
  { say, report, keep }: BenchContext,
  what: string,
  memory: ProcessMemory,
  atMost: number,
): void {
  say(`${what}: ${describe(memory)}`);
  keep(`memory, ${what}`, memory);
  report(`RSS, ${what}`, memory.rss, "MiB", { atMost });
  report(`anonymous memory, ${what}`, memory.anonymous, "MiB");
  report(`peak RSS until then, ${what}`, memory.peak, "MiB");
}

function describe({ rss, anonymous, peak }: ProcessMemory): string {
  return `RSS ${rss.toFixed(0)} MiB, anonymous ${anonymous.toFixed(0)}, peak ${peak.toFixed(0)}`;
}
