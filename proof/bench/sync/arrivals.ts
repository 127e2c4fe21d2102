/**
 * Cases `latency`, `burst`, `distant` and `floor`: one claim at a time on an otherwise idle pair of clusters, many created as fast as the API
 * server takes them, many for a control plane that is far away, where what the agent has under way at once decides, and what any agent could
 * reach at most.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fieldManager, syncerFinalizer } from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import { inParallel } from "../harness/api.ts";
import { type ClaimRef, Claims, numberedRefs } from "../harness/claims.ts";
import {
  type BenchFixture,
  createNamespaces,
  mirrorOf,
  startBenchFixture,
  workNamespace,
} from "../harness/fixture.ts";
import { startIdleLoop } from "../harness/idle-loop.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { formatPercentiles, type Percentiles, percentiles } from "../harness/statistics.ts";
import { widget, widgets } from "../harness/widget.ts";
import { within } from "../harness/stopwatch.ts";
import { type BenchContext, contentsOf } from "./case.ts";

/** Case `latency`. */
export async function measureLatency(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  await using fixture = await startBenchFixture(setUp);
  const sample = await probeLatency(fixture, context, sizes.latencyCount);
  for (const [what, times] of Object.entries(sample)) {
    const value = percentiles(times);
    say(`${what}  ${formatPercentiles(value)}`);
    report(`${what}, p50`, value.p50, "ms", { atMost: 10 });
    report(`${what}, p99`, value.p99, "ms", { atMost: 20 });
  }
}

/** The first ones warm up connections and compilers. */
const warmUpRounds = 10;

/** Measures `count` rounds after some that are not counted. */
export async function probeLatency(
  fixture: BenchFixture,
  context: BenchContext,
  count: number,
): Promise<Readonly<Record<string, readonly number[]>>> {
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  const [created, reported]: [number[], number[]] = [[], []];
  for (const ref of numberedRefs("alone", warmUpRounds + count)) {
    created.push(await claims.create(ref));
    reported.push(await claims.report(ref, { observed: 1 }));
    await sleep(50);
  }
  return {
    "claim → upstream": created.slice(warmUpRounds),
    "status → claim": reported.slice(warmUpRounds),
  };
}

/** prom-client resets what lies behind it with each read, so two reads around the burst give just the burst. */
const lagMetric = "nodejs_eventloop_lag_p99_seconds";

/** Case `burst`. */
export async function measureBurst(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  await using fixture = await startBenchFixture(setUp);
  await probeLatency(fixture, context, 50);
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await using idleLoop = startIdleLoop();
  const send = prepareBurst(claims, sizes.burst);
  await idleLoop.p99();
  await fixture.agent.metric(lagMetric);
  const cpuBefore = cpuSecondsOf(fixture.agent.pid);
  const { createdMs, totalMs, each } = await send(sizes.timeoutMs);
  const lag = await fixture.agent.metric(lagMetric);
  const cpuMs = ((cpuSecondsOf(fixture.agent.pid) - cpuBefore) * 1000) / sizes.burst;
  const machineLag = await idleLoop.p99();
  const what = `burst of ${sizes.burst}`;
  say(`${what}: created in ${createdMs.toFixed(0)} ms, all upstream in ${totalMs.toFixed(0)} ms`);
  say(`each: ${formatPercentiles(each)}`);
  report(`${what}: claims/s`, (sizes.burst * 1000) / totalMs, "/s", { atLeast: 200 });
  report(`${what}: CPU time of the agent for each`, cpuMs, "ms");
  if (lag === undefined) return;
  report(`${what}: event loop of the agent, p99`, lag * 1000, "ms", { atMost: 20 });
  report(`${what}: an idle event loop beside it, p99`, machineLag, "ms");
}

/** There and back, as between continents. */
const wayMs = 250;

/** Case `distant`. */
export async function measureDistant(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  await using fixture = await startBenchFixture({ ...setUp, wayMs });
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  const { totalMs, each } = await prepareBurst(claims, sizes.distantBurst)(sizes.timeoutMs);
  const what = `burst of ${sizes.distantBurst} to a control plane ${wayMs} ms away`;
  say(`${what}: all upstream in ${totalMs.toFixed(0)} ms; each: ${formatPercentiles(each)}`);
  report(`${what}: claims/s`, (sizes.distantBurst * 1000) / totalMs, "/s");
}

/** Milliseconds from sending the first create, and of each claim. */
interface Burst {
  readonly createdMs: number;
  readonly totalMs: number;
  readonly each: Percentiles;
}

/**
 * Makes the contents of `count` claims, because random ones cost time, and gives back what sends them, once. That throws when they are
 * not all upstream after `timeoutMs`.
 */
function prepareBurst(claims: Claims, count: number): (timeoutMs: number) => Promise<Burst> {
  const { fixture, onProvider, contents } = claims;
  const prepared = numberedRefs("burst", count).map((ref) => ({ ref, claim: widget(ref, contents) }));
  return async (timeoutMs) => {
    const arrivals = prepared.map(({ ref }) => onProvider.seen(ref.upstreamKey));
    const sentAt: number[] = [];
    const startedAt = performance.now();
    await inParallel(prepared, async ({ claim }, index) => {
      sentAt[index] = performance.now();
      await fixture.consumer.api.create(widgets, claim);
    });
    const createdMs = performance.now() - startedAt;
    const arrivedAt = await within(Promise.all(arrivals), timeoutMs, "the burst to arrive", fixture.problem);
    return {
      createdMs,
      totalMs: Math.max(...arrivedAt) - startedAt,
      each: percentiles(arrivedAt.map((at, index) => at - (sentAt[index] ?? at))),
    };
  };
}

const workers = 8;
const warmUp = 10;

/** Case `floor`. */
export async function measureFloor(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  await using fixture = await startBenchFixture(setUp);
  // Its work is done by hand here.
  await fixture.agent.stop();
  const consumer = fixture.consumer.cluster.client;
  const provider = fixture.provider.cluster.client;
  // Without a claim an agent need not have asked for the namespace of the copies.
  const mirror = mirrorOf(workNamespace);
  if ((await provider.find(namespaces, { name: mirror })) === undefined)
    await createNamespaces(fixture.provider.api, [mirror]);
  /** The claim, its finalizer, then the copy: the order that keeps a claim until its copy is gone. */
  const one = async (ref: ClaimRef): Promise<number> => {
    const claim = widget(ref, contentsOf(context));
    const options = { fieldManager, force: true };
    const metadata = { ...claim.metadata, finalizers: [syncerFinalizer] };
    const startedAt = performance.now();
    await consumer.create(widgets, claim);
    await consumer.apply(widgets, { apiVersion: claim.apiVersion, kind: claim.kind, metadata }, options);
    await provider.apply(widgets, { ...claim, metadata: ref.upstream }, options);
    return performance.now() - startedAt;
  };
  const times: number[] = [];
  for (const ref of numberedRefs("alone", warmUp + sizes.latencyCount)) times.push(await one(ref));
  const alone = percentiles(times.slice(warmUp));
  say(`one at a time: ${formatPercentiles(alone)}`);
  const startedAt = performance.now();
  await inParallel(numberedRefs("burst", sizes.burst), one, workers);
  const rate = (sizes.burst * 1000) / (performance.now() - startedAt);
  say(`${sizes.burst} in ${workers} workers: ${rate.toFixed(0)}/s`);
  report("floor without an agent: three writes, p50", alone.p50, "ms");
  report(`floor without an agent: burst of ${sizes.burst}`, rate, "/s");
}
