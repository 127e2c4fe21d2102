/** Case `calls`: what one claim's life costs in API calls, and how many of them fail. */
import { type CallCount, counted, describeCalls, isFailed, isOfSync, totalOf } from "../harness/calls.ts";
import { Claims, numberedRefs } from "../harness/claims.ts";
import { startBenchFixture } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";

/** Case `calls`. */
export async function measureCalls(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  await using fixture = await startBenchFixture(setUp);
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await claims.canary();
  // Keeps the deletions below from tripping an agent's guard against mass deletion.
  await claims.sendAll(numberedRefs("stay", 3 * sizes.fewClaims));
  const refs = numberedRefs("calls", sizes.fewClaims);
  const callsFor = async (what: string, deed: Claims["create"]): Promise<readonly CallCount[]> => {
    const { byKind } = await counted(fixture, async () => {
      for (const ref of refs) await deed(ref);
    });
    const calls = byKind.filter(isOfSync);
    say(`${what}: ${describeCalls(calls, refs.length)} (for each claim)`);
    return calls;
  };
  const created = await callsFor("created", (ref) => claims.create(ref));
  const reported = await callsFor("reported", (ref) => claims.report(ref, { observed: 1, message: "ready" }));
  const deleted = await callsFor("deleted", (ref) => claims.remove(ref));
  const live = totalOf([...created, ...reported]) / refs.length;
  report("calls for create and one status", live, "", { atMost: 3.5 });
  report("calls for a deletion", totalOf(deleted) / refs.length);
  const failed = totalOf([...created, ...reported, ...deleted].filter(isFailed));
  report(`failed calls, ${refs.length} lives`, failed, "", { atMost: 0 });
}
