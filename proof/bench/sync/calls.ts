/** Case `calls`: what one claim's life costs in API calls, and how many of them fail. */
import { type CallCount, describeCalls, isFailed, isOfSync, totalOf } from "../harness/calls.ts";
import { Claims, numberedRefs } from "../harness/claims.ts";
import { counted, type CountedCalls } from "../harness/quiet.ts";
import { within } from "../harness/within.ts";
import { startBenchFixture } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";

const limitMs = 60_000;

/** Case `calls`. */
export async function measureCalls(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report, keep } = context;
  await using fixture = await startBenchFixture({ agent });
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
  // Keeps the deletions below from tripping an agent's guard against mass deletion.
  const staying = numberedRefs("stay", 3 * sizes.callClaims);
  const settled = staying.map(({ upstreamKey }) => claims.onProvider.seen(upstreamKey));
  await claims.send(staying);
  await within(Promise.all(settled), limitMs, "the claims that stay to arrive", fixture.problem);
  const refs = numberedRefs("calls", sizes.callClaims);
  const status = { observed: 1, message: "ready" };
  const life = {
    created: claims.create.bind(claims),
    reported: (ref) => claims.report(ref, status),
    deleted: claims.remove.bind(claims),
  } satisfies Record<string, Claims["create"]>;
  const phases: Record<string, CountedCalls> = {};
  for (const [what, deed] of Object.entries(life)) {
    const phase = await counted(fixture, async () => {
      for (const ref of refs) await deed(ref);
    });
    phases[what] = phase;
    const calls = phase.byKind.filter(isOfSync);
    say(`${what}: ${describeCalls(calls, refs.length)} (for each claim)`);
    say(
      `  ${phase.byAgent} calls of the agent's account in all, ${totalOf(calls)} named here; the rest is its lease`,
    );
  }
  keep("calls", phases);
  const callsOf = (...names: readonly (keyof typeof life)[]): readonly CallCount[] =>
    names.flatMap((name) => phases[name]?.byKind.filter(isOfSync) ?? []);
  const live = totalOf(callsOf("created", "reported")) / refs.length;
  report("calls for create and one status", live, "", { atMost: 3.5 });
  report("calls for a deletion", totalOf(callsOf("deleted")) / refs.length);
  const failed = totalOf(callsOf("created", "reported", "deleted").filter(isFailed));
  report(`failed calls, ${refs.length} lives`, failed, "", { atMost: 0 });
}
