/** The agent's calls and CPU time for what happens to claims of the two kinds, between two real API servers. */
import { setTimeout as sleep } from "node:timers/promises";
import { specDigestAnnotation } from "@klutch/api";
import { isRecord, numberAt, recordsAt } from "@klutch/kube-core";
import { inParallel } from "../harness/api.ts";
import { type CallCount, counted, isWrite, totalOf } from "../harness/calls.ts";
import { type ClaimRef, type Claims, numberedRefs } from "../harness/claims.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { benchGroup } from "../harness/widget.ts";
import { providerStatus } from "./pairs.ts";

/** Lets something happen to a claim; resolves when the other side shows it. */
type Deed = (claims: Claims, ref: ClaimRef) => Promise<unknown>;

const create: Deed = (claims, ref) => claims.create(ref);

const edit =
  (size: number): Deed =>
  (claims, ref) =>
    claims.resize(ref, size);

/** The provider reports that it has looked at its present object. `round` must differ each time. */
const answer =
  (round: number): Deed =>
  async (claims, ref) => {
    const { metadata } = await claims.fixture.provider.api.get(claims.type, ref.upstream);
    const mark = metadata.annotations?.[specDigestAnnotation] ?? "";
    const status = providerStatus(metadata.generation ?? 0, mark, round);
    return claims.report(ref, status, (claim) => numberAt(claim.status, "round") === round);
  };

/** The provider stamps its earlier status with the present generation, as Crossplane does before it has looked. Does not wait. */
const stamp: Deed = async ({ fixture, type }, { upstream }) => {
  const { metadata, status } = await fixture.provider.api.get(type, upstream);
  const { generation: observedGeneration } = metadata;
  const conditions = recordsAt(status, "conditions").map((one) => ({ ...one, observedGeneration }));
  const stamped = { ...(isRecord(status) ? status : {}), observedGeneration, conditions };
  await fixture.provider.api.patch(type, upstream, { status: stamped }, "status");
};

/** The deeds of a claim's life in their order. */
const life: readonly (readonly [what: string, ...deeds: Deed[]])[] = [
  ["made, and not answered for seconds", create],
  ["then answered", answer(1)],
  ["another status without an edit", answer(2)],
  ["the spec edited, and not answered for seconds", edit(2)],
  ["then what was said before stamped with the new generation", stamp],
  ["then answered", answer(3)],
  ["the spec edited, and answered at once", edit(3), answer(4)],
];

/** Leads `count` claims of each kind through it. Returns what happened, and the calls of each kind in the words of `callsOf`. */
export async function countCalls(
  kinds: readonly [Claims, Claims],
  count: number,
): Promise<readonly (readonly string[])[]> {
  const refs = numberedRefs("calls", count);
  const rows: string[][] = [];
  for (const [what, ...deeds] of life) {
    const { byKind } = await counted(kinds[0].fixture, async () => {
      for (const claims of kinds)
        await inParallel(refs, async (ref) => {
          for (const deed of deeds) await deed(claims, ref);
        });
    });
    rows.push([what, ...kinds.map(({ type }) => callsOf(byKind, `${benchGroup}/${type.plural}`, count))]);
  }
  return rows;
}

/** Returns status writes, other writes and reads of one resource for each claim. */
export function callsOf(all: readonly CallCount[], resource: string, claims: number): string {
  const own = all.filter((call) => call.resource === resource || call.resource === `${resource}/status`);
  const writes = own.filter(isWrite);
  return [
    writes.filter((call) => call.resource.endsWith("/status")),
    writes.filter((call) => call.resource === resource),
    own.filter(({ verb }) => verb === "GET"),
  ]
    .map((some) => (totalOf(some) / claims).toFixed(2))
    .join(", ");
}

/** Returns milliseconds of CPU time for each of `statuses` claims: a list for each kind, with a figure for each round. The first round warms up. */
export async function measureAgentTime(
  kinds: readonly [Claims, Claims],
  statuses: number,
  rounds: number,
): Promise<readonly (readonly number[])[]> {
  const refs = numberedRefs("time", statuses);
  for (const claims of kinds) await inParallel(refs, (ref) => create(claims, ref));
  const times: number[][] = kinds.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const claims of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const { pid } = claims.fixture.agent;
      const before = cpuSecondsOf(pid);
      await inParallel(refs, (ref) => answer(round + 1)(claims, ref));
      // After the last status the agent still gets the event of its own write.
      await sleep(500);
      const milliseconds = ((cpuSecondsOf(pid) - before) * 1000) / statuses;
      if (round > 0) times[kinds.indexOf(claims)]?.push(milliseconds);
    }
  }
  return times;
}
