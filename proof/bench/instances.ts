/**
 * `npm run bench:instances -- --instances 5000`: one provider with many instances: memory, calls of the broker and of the API server at
 * rest, and how soon a change is noticed. `--rest-seconds 300` is how long it is watched, `--probes 20` how many changes of each kind.
 */
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { serviceInstances } from "@klutch/api";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import { exitCodeOf, UsageError, wholeNumber } from "@klutch/kube-testing";
import { inParallel } from "./harness/api.ts";
import { describeLoad, describeMachine } from "./harness/machine.ts";
import { memoryOf } from "./harness/process-memory.ts";
import { formatPercentiles, percentiles } from "./harness/statistics.ts";
import { isReady, noticeLosses, noticeObjects, noticePlans } from "./instances/notice.ts";
import { measureRest, type Rest } from "./instances/rest.ts";
import { instanceObject, seedStore, startWorld, type World } from "./instances/world.ts";

/** Sizes and times. */
interface Options {
  readonly instances: number;
  readonly restSeconds: number;
  readonly probes: number;
}

interface Probe {
  readonly name: string;
  readonly id: string;
}

/** So long after the last of them became ready nothing is measured: each is asked for once more in the first minute. */
const settleMs = 120_000;
const readyTimeoutMs = 1_800_000;

async function main(): Promise<number> {
  const { instances, restSeconds, probes } = parseOptions(process.argv.slice(2));
  const started = performance.now();
  const say = (line: string): void =>
    console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${line}`);
  console.log(`machine ${describeMachine()}`);
  await using world = await startWorld();
  const seeded = numbered("seeded", instances - probes);
  await seedStore(
    world,
    seeded.map(({ id }) => id),
  );
  await inParallel(seeded, ({ name, id }) => world.api.create(serviceInstances, instanceObject(name, id)));
  say(`${seeded.length} instances in the broker's store and ${seeded.length} objects`);
  const beganAt = performance.now();
  await world.startProvider();
  await untilReady(world, seeded.length);
  const seconds = (performance.now() - beganAt) / 1000;
  say(`all taken over ${seconds.toFixed(1)} s after the provider's start (${describeMemory(world)})`);
  const real = numbered("real", probes);
  await inParallel(real, ({ name }) => world.api.create(serviceInstances, instanceObject(name)), 4);
  await untilReady(world, instances);
  say(`${probes} more that have a database (${describeMemory(world)})`);
  await sleep(settleMs);
  sayRest(say, await measureRest(world, restSeconds), instances);
  const withIds = await Promise.all(
    real.map(async ({ name }) => ({ name, id: await idOf(world, name) }) satisfies Probe),
  );
  const told = async (what: string, times: Promise<readonly number[]>): Promise<void> =>
    say(`${what}: ${formatPercentiles(percentiles(await times))}`);
  await told("object changed → the broker has begun", noticeObjects(world, withIds));
  // Not those that were just made: all of them would be asked for at the same time.
  const some = spread(seeded, 2 * probes);
  const ids = some.slice(0, probes).map(({ id }) => id);
  await told("plan changed at the broker → changed back", noticePlans(world, ids));
  await told("lost at the broker → not ready", noticeLosses(world, some.slice(probes)));
  say(`load ${describeLoad()}`);
  return 0;
}

function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: args.filter((argument) => argument !== "--"),
    options: {
      instances: { type: "string", default: "5000" },
      "rest-seconds": { type: "string", default: "300" },
      probes: { type: "string", default: "20" },
    },
  });
  const number = (name: keyof typeof values): number => wholeNumber(name, values[name]);
  const [instances, probes] = [number("instances"), number("probes")];
  if (instances < 3 * probes)
    throw new UsageError(
      `--instances must be at least three times --probes, so ${3 * probes} or more, not ${instances}`,
    );
  return { instances, probes, restSeconds: number("rest-seconds") };
}

function numbered(word: string, count: number): readonly Probe[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${word}-${index}`,
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  }));
}

/** So many of them, at equal distances, every second one in the second half. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  const chosen = items.filter((_, index) => index % Math.floor(items.length / count) === 0).slice(0, count);
  return [0, 1].flatMap((half) => chosen.filter((_, index) => index % 2 === half));
}

async function untilReady({ cluster }: World, count: number): Promise<void> {
  const end = performance.now() + readyTimeoutMs;
  for (;;) {
    let ready = 0;
    for await (const object of cluster.client.listAll<DynamicObject>(serviceInstances))
      if (isReady(object)) ready++;
    if (ready === count) return;
    if (performance.now() > end) throw new Error(`${ready} of ${count} instances are ready`);
    await sleep(1_000);
  }
}

async function idOf({ api }: World, name: string): Promise<string> {
  const object = await api.get(serviceInstances, { name });
  const id = textAt(object, "status", "atProvider", "instanceId");
  if (id === undefined) throw new Error(`${name} has no id`);
  return id;
}

function describeMemory({ provider }: World): string {
  const { rss, peak } = memoryOf(provider().pid);
  return `provider: RSS ${rss.toFixed(0)} MiB, peak ${peak.toFixed(0)} MiB`;
}

function sayRest(say: (line: string) => void, rest: Rest, instances: number): void {
  const { minutes, brokerCallsAMinute, brokerCalls, apiCallsAMinute, apiCalls, rss, cpuPercent } = rest;
  const each = (brokerCallsAMinute / instances).toFixed(3);
  say(`at rest for ${minutes.toFixed(1)} min:`);
  say(`  broker calls ${brokerCallsAMinute.toFixed(0)}/min, ${each} for each instance (${brokerCalls})`);
  say(`  API calls of the provider ${apiCallsAMinute.toFixed(1)}/min (all for its kinds: ${apiCalls})`);
  say(`  RSS ${rss.map((one) => one.toFixed(0)).join(" to ")} MiB, CPU ${cpuPercent.toFixed(1)} %`);
}

process.exitCode = await exitCodeOf(main);
