/** Case `memory`: what the agent holds, when everything is synchronised and has been quiet for a while. */
import { setTimeout as sleep } from "node:timers/promises";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { inParallel } from "../harness/api.ts";
import { randomBase64 } from "../harness/contents.ts";
import { canary } from "../harness/latency-probe.ts";
import { memoryOf, type ProcessMemory } from "../harness/process-memory.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import { type BenchWorld, createNamespaces, startBenchWorld } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";
import { claimNamespaces, claimRefs, createClaims } from "./claims.ts";
import type { Settled } from "./initial.ts";

/** A runtime gives memory back late; so long the agent is left alone before it is measured. */
const restSeconds = 15;

/** Many claims of ordinary size. */
export async function measureSettledMemory(context: BenchContext, { world, refs }: Settled): Promise<void> {
  const what = `${refs.length} claims × ${context.sizes.specBytes} bytes`;
  const memory = await atRest(world);
  reportMemory(context, what, memory, 150);
}

/** Secrets of users in the namespaces of claims: the agent has no business with them. */
export async function measureForeignSecrets(context: BenchContext, { world, refs }: Settled): Promise<void> {
  const { sizes, random, say, report, keep } = context;
  const before = await atRest(world);
  const names = [...new Set(refs.map(({ namespace }) => namespace))];
  const items = Array.from({ length: sizes.foreignSecrets }, (_, index) => index);
  await inParallel(items, (index) => {
    const secret: DynamicObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: names[index % names.length], name: `foreign-${index}` },
      data: { key: Buffer.from(randomBase64(random, 1500)).toString("base64") },
    };
    return world.consumer.api.create(secrets, secret);
  });
  // Not until it is quiet: an agent that copies them would be busy for long.
  await sleep(restSeconds * 1000);
  const after = memoryOf(world.agent.pid);
  const copied = await copiesOf(world);
  say(
    `${sizes.foreignSecrets} foreign Secrets: ${describe(before)} → ${describe(after)}, ${copied} copied upstream`,
  );
  keep("foreignSecrets", { before, after, copied });
  const what = `${sizes.foreignSecrets} foreign Secrets`;
  report({
    metric: `RSS, growth by ${what}`,
    unit: "MiB",
    value: after.rss - before.rss,
    target: { atMost: 5 },
  });
  report({ metric: `${what}: copied to the provider`, unit: "", value: copied, target: { atMost: 0 } });
}

async function copiesOf({ provider }: BenchWorld): Promise<number> {
  let count = 0;
  for await (const { metadata } of provider.cluster.client.listAll(secrets, { metadataOnly: true })) {
    if (metadata.name?.startsWith("foreign-") === true) count++;
  }
  return count;
}

/** Few claims, but large ones, in a world of their own. */
export const largeClaimsCase: BenchCase = { serves: ["memory"], run: measureLargeClaims };

async function measureLargeClaims(context: BenchContext): Promise<void> {
  const { agent, sizes, random } = context;
  await using world = await startBenchWorld({ agent });
  await canary(world, { random, bytes: sizes.specBytes });
  await using onProvider = await startStopwatch(world.provider.cluster.client, widgets);
  const refs = claimRefs(sizes.largeClaims);
  await createNamespaces(world.consumer.api, claimNamespaces(sizes.largeClaims));
  const arrivals = Promise.all(refs.map(({ upstreamKey }) => onProvider.seen(upstreamKey)));
  await createClaims(world, refs, random, sizes.largeBytes);
  await within(arrivals, sizes.timeoutMinutes * 60_000, "the large claims to arrive", world.problem);
  await untilQuiet(world);
  reportMemory(context, `${refs.length} claims × ${sizes.largeBytes} bytes`, await atRest(world), 250);
}

async function atRest(world: BenchWorld): Promise<ProcessMemory> {
  await sleep(restSeconds * 1000);
  return memoryOf(world.agent.pid);
}

function reportMemory(
  { say, report, keep }: BenchContext,
  what: string,
  memory: ProcessMemory,
  atMost: number,
): void {
  say(`${what}: ${describe(memory)}`);
  keep(`memory, ${what}`, memory);
  report({ metric: `RSS, ${what}`, unit: "MiB", value: memory.rss, target: { atMost } });
  report({ metric: `anonymous memory, ${what}`, unit: "MiB", value: memory.anonymous });
  report({ metric: `peak RSS until then, ${what}`, unit: "MiB", value: memory.peak });
}

function describe({ rss, anonymous, peak }: ProcessMemory): string {
  return `RSS ${rss.toFixed(0)} MiB, anonymous ${anonymous.toFixed(0)}, peak ${peak.toFixed(0)}`;
}
