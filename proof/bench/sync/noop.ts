/** Case `noop`: changes of the provider that ask nothing, or only a status, of the agent. */
import { inParallel } from "../harness/api.ts";
import { type CallCount, describeCalls, isFailed, isWrite, totalOf } from "../harness/calls.ts";
import type { ClaimRef } from "../harness/claims.ts";
import { counted } from "../harness/quiet.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { benchGroup, widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import type { BenchFixture } from "../harness/fixture.ts";
import type { BenchContext, Settled } from "./case.ts";

/**
 * A controller of the provider fills in a field that the user left empty and reports a status: one status write for each claim is
 * needed. It does the same again, which changes nothing; then it says the same in its own field manager's name, which changes
 * only who owns the fields, but makes events.
 */
export async function measureNoop(context: BenchContext, { fixture, refs }: Settled): Promise<void> {
  const { sizes, say, report, keep } = context;
  const touched = refs.slice(0, sizes.noopObjects);
  const first = await callsFor(fixture, async () => {
    await using onConsumer = await startStopwatch(fixture.consumer.cluster.client, widgets);
    const returned = touched.map(({ key }) => onConsumer.seen(key, ({ status }) => status !== undefined));
    await fillIn(fixture, touched);
    await within(Promise.all(returned), 120_000, "the statuses to return", fixture.problem);
  });
  const again = await callsFor(fixture, async () => {
    await fillIn(fixture, touched);
    await claimFields(fixture, touched);
  });
  say(`first time: ${describeCalls(first)}`);
  say(`the same again: ${again.length === 0 ? "nothing" : describeCalls(again)}`);
  keep("noop", { objects: touched.length, first, again });
  const all = [...first, ...again];
  const writes = totalOf(all.filter(isWrite));
  const useless = Math.max(0, writes - touched.length);
  report(`useless writes for ${touched.length} provider updates`, useless, "", { atMost: 0 });
  const needed = `needed status writes for ${touched.length} provider updates`;
  report(needed, Math.min(writes, touched.length));
  report("provider updates: failed calls", totalOf(all.filter(isFailed)), "", { atMost: 0 });
}

async function callsFor(fixture: BenchFixture, work: () => Promise<void>): Promise<readonly CallCount[]> {
  const { byKind } = await counted(fixture, work);
  return byKind.filter(
    ({ verb, resource }) => resource.startsWith(benchGroup) && verb !== "WATCH" && verb !== "LIST",
  );
}

const status = { observed: 1, message: "ready" };

async function fillIn({ provider }: BenchFixture, refs: readonly ClaimRef[]): Promise<void> {
  await inParallel(refs, async ({ upstream }) => {
    await provider.api.patch(widgets, upstream, { spec: { providerRef: `instance-${upstream.name}` } });
    await provider.api.patch(widgets, upstream, { status }, "status");
  });
}

async function claimFields({ provider }: BenchFixture, refs: readonly ClaimRef[]): Promise<void> {
  const manager = "bench-provider";
  await inParallel(refs, async ({ upstream }) => {
    const object = { apiVersion: `${benchGroup}/v1`, kind: widgets.kind, metadata: { ...upstream } };
    const spec = { providerRef: `instance-${upstream.name}`, tier: "standard" };
    await provider.api.apply(widgets, { ...object, spec }, manager);
    await provider.api.apply(widgets, { ...object, status }, manager, "status");
  });
}
