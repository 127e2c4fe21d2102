/**
 * Cases `initial`, `idle`, `restart`, `noop`, and with memory.ts `memory`: one fixture with many claims, in which they follow each other. Like the shipped `servicebindings` template, the export claims Secrets that the provider owns.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { objectOfType } from "@klutch/kube-testing";
import { inParallel } from "../harness/api.ts";
import {
  type CallCount,
  callsDuring,
  counted,
  describeCalls,
  isFailed,
  isOfSync,
  isWrite,
  totalOf,
  untilQuiet,
} from "../harness/calls.ts";
import { anyOf, type ClaimRef, Claims, spreadRefs } from "../harness/claims.ts";
import { type BenchFixture, freeLeases, providerOwned, startBenchFixture } from "../harness/fixture.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { startStopwatch, within } from "../harness/stopwatch.ts";
import { benchGroup, widgets } from "../harness/widget.ts";
import { startBystanders } from "./bystanders.ts";
import { type BenchContext, contentsOf } from "./case.ts";
import { measureForeignSecrets, reportMemory } from "./memory.ts";

type Case = (context: BenchContext, fixture: BenchFixture, refs: readonly ClaimRef[]) => Promise<void>;

/** Runs those of the cases that are wanted. */
export async function measureSettled(context: BenchContext): Promise<void> {
  const { setUp, sizes, wants } = context;
  await using fixture = await startBenchFixture({ ...setUp, permissionClaims: [providerOwned("secrets")] });
  const refs = await sendWhileStopped(context, fixture);
  await measureInitial(context, fixture, refs);
  if (wants("memory"))
    await reportMemory(context, fixture, `${refs.length} claims × ${sizes.specBytes}`, 150);
  if (wants("idle")) await measureIdle(context, fixture, refs);
  if (wants("restart")) await measureRestart(context, fixture, refs);
  if (wants("noop")) await measureNoop(context, fixture, refs.slice(0, sizes.fewClaims));
  if (wants("memory")) await measureForeignSecrets(context, fixture, refs);
}

/** The API is bound; now the claims come while no agent runs. */
async function sendWhileStopped(context: BenchContext, fixture: BenchFixture): Promise<readonly ClaimRef[]> {
  const { sizes, say } = context;
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
  await fixture.agent.stop();
  const refs = await spreadRefs(fixture, sizes.claims);
  await claims.send(refs);
  say(`${refs.length} claims of ${sizes.specBytes} bytes made`);
  return refs;
}

/** The agent starts where all claims exist already, while others use the clusters; reports only when `initial` was asked for. */
const measureInitial: Case = async (context, fixture, refs) => {
  const { sizes, say, report, wants } = context;
  const { timeoutMs } = sizes;
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context), limitMs: timeoutMs });
  await freeLeases(fixture);
  let seconds = 0;
  const { byKind } = await callsDuring(fixture, async () => {
    const bystanders = wants("initial") ? await startBystanders(context, claims) : undefined;
    const startedAt = performance.now();
    const arrivals = refs.map(async (ref) => {
      const at = await claims.onProvider.seen(ref.upstreamKey);
      bystanders?.synced.push(ref);
      return at - startedAt;
    });
    await fixture.agent.start();
    const arrivedMs = await within(Promise.all(arrivals), timeoutMs, "all claims to arrive", fixture.problem);
    seconds = Math.max(...arrivedMs) / 1000;
    say(`all ${refs.length} upstream ${seconds.toFixed(1)} s after the start of the agent`);
    await bystanders?.stop();
    await untilQuiet(fixture, timeoutMs);
  });
  say(`calls for each claim: ${describeCalls(byKind.filter(isOfSync), refs.length)}`);
  if (wants("initial")) report(`initial sync of ${refs.length}`, seconds, "s", { atMost: 90 });
};

/** Counts all requests of the agent's account when nothing happens: lease, watches that are opened again, heartbeats and whatever else. */
const measureIdle: Case = async ({ sizes, say, report }, fixture, refs) => {
  await untilQuiet(fixture);
  const { byAgent, byKind } = await callsDuring(fixture, () => sleep(sizes.idleSeconds * 1000));
  say(`${byAgent} calls; all that ended, the servers' own too: ${describeCalls(byKind)}`);
  report(`idle with ${refs.length} claims: calls`, byAgent / sizes.idleSeconds, "/s", { atMost: 0.3 });
  const written = byKind.filter((call) => isWrite(call) && call.resource.startsWith(benchGroup));
  report("idle: writes to claims and their copies", totalOf(written), "", { atMost: 0 });
};

/** The agent dies by SIGKILL and is started again over claims in sync: first with the lease out of the way, then as a crash leaves it. */
const measureRestart: Case = async (context, fixture, refs) => {
  const { say, report, random } = context;
  const { agent } = fixture;
  const restart = async (lease: "free" | "held by the dead", size: number): Promise<number> => {
    await using claims = await Claims.watch(fixture, { contents: contentsOf(context), limitMs: 120_000 });
    await agent.kill();
    if (lease === "free") await freeLeases(fixture);
    let seconds = 0;
    const { byKind } = await callsDuring(fixture, async () => {
      // Made while no agent runs: the next one has to find it.
      const passed = claims.resize(anyOf(refs, random), size);
      const startedAt = performance.now();
      await agent.start();
      await passed;
      seconds = (performance.now() - startedAt) / 1000;
      await untilQuiet(fixture);
    });
    const calls = byKind.filter(({ resource }) => resource.startsWith(benchGroup));
    say(`restart, lease ${lease}: ${seconds.toFixed(2)} s; ${describeCalls(calls)}`);
    if (lease !== "free") return seconds;
    const what = `restart with ${refs.length} claims, lease free: until an edit passes`;
    report(what, seconds, "s", { atMost: 2.5 });
    // One write is needed: the edit's.
    const needless = Math.max(0, totalOf(calls.filter(isWrite)) - 1);
    report("restart: needless writes", needless, "", { atMost: 0 });
    report("restart: CPU seconds", cpuSecondsOf(agent.pid));
    return seconds;
  };
  const free = await restart("free", 2001);
  const held = await restart("held by the dead", 2002);
  report("restart after a crash: wait for the old lease", Math.max(0, held - free), "s");
};

const status = { observed: 1, message: "ready" };

/**
 * Case `noop`: changes of the provider that ask nothing, or only a status, of the agent. A controller of the provider fills in a field that the user left empty and reports a status: one status write for each claim is
 * needed. It does the same again, which changes nothing; then it says the same in its own field manager's name, which changes
 * only who owns the fields, but makes events.
 */
const measureNoop: Case = async ({ say, report }, fixture, refs) => {
  const { api } = fixture.provider;
  const fillIn = (): Promise<void> =>
    inParallel(refs, async ({ upstream }) => {
      await api.patch(widgets, upstream, { spec: { providerRef: `instance-${upstream.name}` } });
      await api.patch(widgets, upstream, { status }, "status");
    });
  const first = await callsFor(fixture, async () => {
    await using onConsumer = await startStopwatch(fixture.consumer.cluster.client, widgets);
    const returned = refs.map(({ key }) => onConsumer.seen(key, (claim) => claim.status !== undefined));
    await fillIn();
    await within(Promise.all(returned), 120_000, "the statuses to return", fixture.problem);
  });
  const again = await callsFor(fixture, async () => {
    await fillIn();
    const manager = "bench-provider";
    await inParallel(refs, async ({ upstream }) => {
      const spec = { providerRef: `instance-${upstream.name}`, tier: "standard" };
      await api.apply(widgets, objectOfType(widgets, upstream, { spec }), manager);
      await api.apply(widgets, objectOfType(widgets, upstream, { status }), manager, "status");
    });
  });
  say(`first time: ${describeCalls(first)}`);
  say(`the same again: ${again.length === 0 ? "nothing" : describeCalls(again)}`);
  const all = [...first, ...again];
  const writes = totalOf(all.filter(isWrite));
  const useless = Math.max(0, writes - refs.length);
  report(`useless writes for ${refs.length} provider updates`, useless, "", { atMost: 0 });
  report("provider updates: failed calls", totalOf(all.filter(isFailed)), "", { atMost: 0 });
};

async function callsFor(fixture: BenchFixture, work: () => Promise<void>): Promise<readonly CallCount[]> {
  const { byKind } = await counted(fixture, work);
  return byKind.filter(
    ({ verb, resource }) => resource.startsWith(benchGroup) && verb !== "WATCH" && verb !== "LIST",
  );
}
