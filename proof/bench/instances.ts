/**
 * `npm run bench:instances -- --instances 5000`: one provider with many instances: memory, calls of the broker and of the API server at
 * rest, and how soon a change is noticed. `--rest-seconds 300` is how long it is watched, `--probes 20` how many changes of each kind.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceInstances } from "@klutch/api";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import { UsageError, waitFor } from "@klutch/kube-testing";
import { inParallel } from "./harness/api.ts";
import { memoryOf } from "./harness/process-memory.ts";
import { runBenchmark } from "./harness/program.ts";
import { formatPercentiles, percentiles } from "./harness/statistics.ts";
import {
  type Instance,
  isReady,
  measureRest,
  noticeLosses,
  noticeObjects,
  noticePlans,
} from "./instances/measure.ts";
import { instanceObject, seedStore, startFixture, type Fixture } from "./instances/fixture.ts";

const defaults = { instances: 5000, "rest-seconds": 300, probes: 20 };
/** Milliseconds between the last instance's becoming ready and the first measurement: the first minute asks for each once more. */
const settleMs = 120_000;
const readyTimeoutMs = 1_800_000;

async function main({ instances, probes, "rest-seconds": restSeconds }: typeof defaults): Promise<void> {
  if (instances < 3 * probes)
    throw new UsageError(
      `--instances must be at least three times --probes, so ${3 * probes} or more, not ${instances}`,
    );
  const started = performance.now();
  const say = (line: string): void =>
    console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${line}`);
  await using fixture = await startFixture();
  const seeded = numbered("seeded", instances - probes);
  await seedStore(
    fixture,
    seeded.map(({ id }) => id),
  );
  await inParallel(seeded, ({ name, id }) => fixture.api.create(serviceInstances, instanceObject(name, id)));
  say(`${seeded.length} instances in the broker's store and ${seeded.length} objects`);
  const beganAt = performance.now();
  await fixture.startProvider();
  await untilReady(fixture, seeded.length);
  const seconds = (performance.now() - beganAt) / 1000;
  say(`all taken over ${seconds.toFixed(1)} s after the provider's start (${describeMemory(fixture)})`);
  const real = numbered("real", probes);
  await inParallel(real, ({ name }) => fixture.api.create(serviceInstances, instanceObject(name)), 4);
  await untilReady(fixture, instances);
  say(`${probes} more that have a database (${describeMemory(fixture)})`);
  await sleep(settleMs);
  for (const line of await measureRest(fixture, restSeconds, instances)) say(line);
  const told = async (what: string, times: Promise<readonly number[]>): Promise<void> =>
    say(`${what}: ${formatPercentiles(percentiles(await times))}`);
  const withIds = await Promise.all(real.map((one) => withId(fixture, one)));
  await told("object changed → the broker has begun", noticeObjects(fixture, withIds));
  // Leaves out the instances that were just made: all of them would be asked for at the same time.
  const distance = Math.floor(seeded.length / probes);
  const from = (first: number): readonly Instance[] =>
    seeded.filter((_, index) => index % distance === first).slice(0, probes);
  await told("plan changed at the broker → changed back", noticePlans(fixture, from(0)));
  await told("lost at the broker → not ready", noticeLosses(fixture, from(1)));
}

function numbered(word: string, count: number): readonly Instance[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${word}-${index}`,
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  }));
}

async function untilReady({ cluster }: Fixture, count: number): Promise<void> {
  const areReady = async (): Promise<boolean> => {
    let ready = 0;
    for await (const object of cluster.client.listAll<DynamicObject>(serviceInstances))
      if (isReady(object)) ready++;
    if (ready !== count) throw new Error(`${ready} of ${count} instances are ready`);
    return true;
  };
  await waitFor("all instances to be ready", areReady, { timeoutMs: readyTimeoutMs, intervalMs: 1_000 });
}

async function withId({ api }: Fixture, { name }: Instance): Promise<Instance> {
  const object = await api.get(serviceInstances, { name });
  const id = textAt(object, "status", "atProvider", "instanceId");
  if (id === undefined) throw new Error(`${name} has no id`);
  return { name, id };
}

function describeMemory({ pid }: Fixture): string {
  const { rss, peak } = memoryOf(pid());
  return `provider: RSS ${rss.toFixed(0)} MiB, peak ${peak.toFixed(0)} MiB`;
}

process.exitCode = await runBenchmark(defaults, main);
