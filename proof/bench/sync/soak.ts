/** Case `soak`: whether the agent's memory stays flat under churn, and whether both sides agree afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import { type DynamicObject, keyOf, recordAt } from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { untilQuiet } from "../harness/calls.ts";
import { anyOf, type ClaimRef, claimRef, Claims } from "../harness/claims.ts";
import { type BenchFixture, mirrorOf, providerOwned, startBenchFixture } from "../harness/fixture.ts";
import { memoryOf } from "../harness/process-memory.ts";
import { lowestOfEach, trend } from "../harness/statistics.ts";
import { widget, type WidgetContents, widgets } from "../harness/widget.ts";
import { type BenchContext, contentsOf } from "./case.ts";

/** Changes a second. */
const rate = 20;
const sampleEveryMs = 10_000;
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
  const { setUp, sizes, say, report } = context;
  const { soakMinutes: minutes } = sizes;
  await using fixture = await startBenchFixture({ ...setUp, permissionClaims: [providerOwned("secrets")] });
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
  const churn = startChurn(fixture, rate, contentsOf(context));
  const samples = await sample(fixture, minutes);
  await churn.stop();
  await untilQuiet(fixture);
  const late = samples.slice(Math.floor(samples.length * warmUpShare));
  const { slope, error } = trend(lowestOfEach(late, minutes / 60 / stretches));
  say(`${JSON.stringify(churn.done)} in ${minutes} min`);
  say(`RSS ${samples.map(([, rss]) => rss.toFixed(0)).join(", ")} MiB`);
  const isFlat = slope <= flatMiBPerHour || slope - 2 * error <= 0;
  const isLongEnough = minutes >= shortestVerdictMinutes;
  const verdict = isLongEnough ? (isFlat ? "flat" : "GROWS") : "too short to say";
  say(
    `slope of the lowest points without the first third ${slope.toFixed(1)} ± ${(2 * error).toFixed(1)} MiB/h: ${verdict}`,
  );
  report("soak: RSS slope", slope, "MiB/h");
  if (isLongEnough) report("soak: grows (0 = flat)", isFlat ? 0 : 1, "", { atMost: 0 });
  report("soak: pairs that differ at the end", await differingPairs(fixture), "", { atMost: 0 });
}

/** Returns the agent's RSS in MiB at times in hours. */
async function sample({ agent }: BenchFixture, minutes: number): Promise<(readonly [number, number])[]> {
  const samples: (readonly [hours: number, rss: number])[] = [];
  const startedAt = performance.now();
  for (let elapsed = 0; elapsed < minutes * 60_000; ) {
    await sleep(sampleEveryMs);
    elapsed = performance.now() - startedAt;
    samples.push([elapsed / 3_600_000, memoryOf(agent.pid).rss]);
  }
  return samples;
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

interface LiveClaim {
  readonly ref: ClaimRef;
  readonly bornAt: number;
}

/** The approximate number of claims that live at a time. */
const population = 200;
/** A claim is left alone until it must have arrived upstream. */
const childhoodMs = 5000;

/** The churn under way. */
export interface Churn {
  /** Done so far, by kind of change. */
  readonly done: Readonly<Record<string, number>>;
  /** Ends it when the last change has been answered; throws when one was refused. */
  stop(): Promise<void>;
}

/** Starts `rate` changes a second in the work namespace. */
export function startChurn(
  { consumer, provider }: BenchFixture,
  rate: number,
  contents: WidgetContents,
): Churn {
  const done = { created: 0, edited: 0, reported: 0, deleted: 0, missed: 0 };
  const live: LiveClaim[] = [];
  const open = new Set<Promise<void>>();
  const faults: unknown[] = [];
  let serial = 0;
  const { random } = contents;

  const create = async (): Promise<void> => {
    const ref = claimRef(`soak-${++serial}`);
    await consumer.api.create(widgets, widget(ref, contents));
    live.push({ ref, bornAt: performance.now() });
    done.created++;
  };
  const change = async (kind: "edited" | "reported" | "deleted", { ref }: LiveClaim): Promise<void> => {
    const value = ++serial;
    try {
      if (kind === "edited") await consumer.api.patch(widgets, ref, { spec: { size: value } });
      else if (kind === "deleted") await consumer.api.delete(widgets, ref);
      else await provider.api.patch(widgets, ref.upstream, { status: { observed: value } }, "status");
      done[kind]++;
    } catch (error) {
      // Deleted between choice and change; upstream that may also mean that it has not arrived.
      if (!isNotFound(error)) throw error;
      done.missed++;
    }
  };
  const oneChange = (): Promise<void> => {
    const adults = live.filter(({ bornAt }) => performance.now() - bornAt > childhoodMs);
    const isGrowing = live.length < population;
    const wish = random();
    if (adults.length === 0 || wish < (isGrowing ? 0.3 : 0.2)) return create();
    const claim = anyOf(adults, random);
    if (wish < 0.5) return change("edited", claim);
    if (wish < (isGrowing ? 0.8 : 0.7)) return change("reported", claim);
    live.splice(live.indexOf(claim), 1);
    return change("deleted", claim);
  };
  const timer = setInterval(() => {
    const changing = oneChange()
      .catch((error: unknown) => void faults.push(error))
      .finally(() => open.delete(changing));
    open.add(changing);
  }, 1000 / rate);
  return {
    done,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      if (faults.length > 0) throw new AggregateError(faults, `${faults.length} changes of the soak failed`);
    },
  };
}
