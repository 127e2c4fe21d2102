/** Case `soak`: whether the agent's memory stays flat under churn, and whether both sides agree afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import { type DynamicObject, keyOf, recordAt } from "@klutch/kube-core";
import { Claims } from "../harness/claims.ts";
import { memoryOf, type ProcessMemory } from "../harness/process-memory.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { lowestOfEach, trend } from "../harness/statistics.ts";
import { formatTable } from "../harness/table.ts";
import { widgets } from "../harness/widget.ts";
import { type BenchFixture, mirrorOf, providerOwned, startBenchFixture } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";
import { startChurn } from "./churn.ts";

interface Sample extends ProcessMemory {
  readonly minutes: number;
}

const sampleEveryMs = 10_000;
const tableRows = 12;
/** Share of the soak that is warm-up and shows nothing about leaks. */
const warmUpShare = 1 / 3;
/** Growth too small to notice in a day of restarts and upgrades. */
const flatMiBPerHour = 4;
/** Number of stretches whose lowest points are taken: the heap fills between collections, so only those points show leaks. */
const stretches = 10;
/** Minutes that a verdict needs: in less, caches and compilers are still warming up. */
const shortestVerdictMinutes = 10;

/** Case `soak`. */
export async function measureSoak(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report, keep } = context;
  await using fixture = await startBenchFixture({ agent, permissionClaims: [providerOwned("secrets")] });
  await showThatClaimsPass(fixture, context);
  const churn = startChurn(fixture, sizes.soakRate, contentsOf(context));
  const samples = await sample(fixture, sizes.soakMinutes);
  await churn.stop();
  await untilQuiet(fixture);
  const differing = await differingPairs(fixture);
  const late = samples.slice(Math.floor(samples.length * warmUpShare));
  const points = late.map(({ minutes, rss }) => [minutes / 60, rss] as const);
  const { slope, error } = trend(lowestOfEach(points, sizes.soakMinutes / 60 / stretches));
  say(`${JSON.stringify(churn.done)} in ${sizes.soakMinutes} min\n${memoryTable(samples)}`);
  const isFlat = slope <= flatMiBPerHour || slope - 2 * error <= 0;
  const isLongEnough = sizes.soakMinutes >= shortestVerdictMinutes;
  const verdict = isLongEnough ? (isFlat ? "flat" : "GROWS") : "too short to say";
  say(
    `slope of the lowest points without the first third ${slope.toFixed(1)} ± ${(2 * error).toFixed(1)} MiB/h: ${verdict}`,
  );
  keep("soak", { done: churn.done, samples, slope, error, differing });
  report("soak: RSS slope", slope, "MiB/h");
  if (isLongEnough) report("soak: grows (0 = flat)", isFlat ? 0 : 1, "", { atMost: 0 });
  report("soak: pairs that differ at the end", differing, "", { atMost: 0 });
}

async function showThatClaimsPass(fixture: BenchFixture, context: BenchContext): Promise<void> {
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
}

async function sample(fixture: BenchFixture, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const everyMs = Math.min(sampleEveryMs, (minutes * 60_000) / tableRows);
  for (let elapsed = 0; elapsed < minutes * 60_000; ) {
    await sleep(everyMs);
    elapsed = performance.now() - startedAt;
    samples.push({ minutes: elapsed / 60_000, ...memoryOf(fixture.agent.pid) });
  }
  return samples;
}

function memoryTable(samples: readonly Sample[]): string {
  const step = Math.max(1, Math.floor(samples.length / tableRows));
  const rows = samples
    .filter((_, index) => (index + 1) % step === 0)
    .map(({ minutes, rss, anonymous, peak }) => [
      minutes.toFixed(1),
      rss.toFixed(0),
      anonymous.toFixed(0),
      peak.toFixed(0),
    ]);
  return formatTable(["minute", "RSS MiB", "anonymous", "peak"], rows);
}

/** Claims without an equal upstream object, and upstream objects without a claim. */
async function differingPairs({ consumer, provider }: BenchFixture): Promise<number> {
  const claims = await comparable(consumer.cluster.client.listAll<DynamicObject>(widgets), mirrorOf);
  const upstreams = await comparable(provider.cluster.client.listAll<DynamicObject>(widgets), (name) => name);
  const keys = new Set([...claims.keys(), ...upstreams.keys()]);
  return [...keys].filter((key) => claims.get(key) !== upstreams.get(key)).length;
}

async function comparable(
  objects: AsyncIterable<DynamicObject>,
  place: (namespace: string) => string,
): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  for await (const { metadata, spec, status, ...object } of objects) {
    const moved = { ...metadata, namespace: place(metadata.namespace ?? "") };
    const { size, text, blob } = recordAt(spec);
    contents.set(keyOf({ ...object, metadata: moved }), JSON.stringify([size, text, blob, status ?? null]));
  }
  return contents;
}
