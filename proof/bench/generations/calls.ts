/** The agent's calls for each thing that happens to a claim, by the API servers' own counters. */
import { inParallel } from "../harness/api.ts";
import { type CallCount, isWrite, totalOf } from "../harness/calls.ts";
import type { Claims } from "../harness/claims.ts";
import { counted } from "../harness/quiet.ts";
import { benchGroup } from "../harness/widget.ts";
import { answer, create, type Deed, edit, label, stamp } from "./bound-kind.ts";

/** Average numbers of calls for one claim. */
export interface Calls {
  readonly statusWrites: number;
  readonly otherWrites: number;
  readonly reads: number;
}

/** One thing that happened, in the order of a claim's life; calls of the kinds in the order in which they were given. */
export interface Happening {
  readonly what: string;
  readonly calls: readonly Calls[];
}

/** The deeds of a claim's life in their order, by the first word of the claim's name. */
const lives: Readonly<Record<string, readonly (readonly [what: string, deed: Deed])[]>> = {
  quick: [["made, and answered at once", both(create, 1)]],
  calls: [
    ["made, and not answered for seconds", create],
    ["then answered", answer(1)],
    ["another status without an edit", answer(2)],
    ["a label edited", label("blue")],
    ["the spec edited, and not answered for seconds", edit(2)],
    ["then what was said before stamped with the new generation", stamp],
    ["then answered", answer(3)],
    ["the spec edited, and answered at once", both(edit(3), 4)],
  ],
};

/** Leads `count` claims of each kind through it. */
export async function countCalls(kinds: readonly Claims[], count: number): Promise<readonly Happening[]> {
  const happenings: Happening[] = [];
  for (const [prefix, deeds] of Object.entries(lives)) {
    const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    for (const [what, deed] of deeds) happenings.push({ what, calls: await callsFor(kinds, names, deed) });
  }
  return happenings;
}

async function callsFor(
  kinds: readonly Claims[],
  names: readonly string[],
  deed: Deed,
): Promise<readonly Calls[]> {
  const [first] = kinds;
  if (first === undefined) return [];
  const { byKind } = await counted(first.fixture, async () => {
    for (const claims of kinds) await inParallel(names, (name) => deed(claims, name));
  });
  return kinds.map(({ type }) => callsOf(byKind, `${benchGroup}/${type.plural}`, names.length));
}

/** Counts the calls of one resource, divided by the number of claims. */
export function callsOf(all: readonly CallCount[], resource: string, claims: number): Calls {
  const own = all.filter((call) => call.resource === resource || call.resource === `${resource}/status`);
  const each = (some: readonly CallCount[]): number => totalOf(some) / claims;
  const writes = own.filter(isWrite);
  return {
    statusWrites: each(writes.filter((call) => call.resource.endsWith("/status"))),
    otherWrites: each(writes.filter((call) => call.resource === resource)),
    reads: each(own.filter(({ verb }) => verb === "GET")),
  };
}

function both(cause: Deed, round: number): Deed {
  return async (claims, name) => {
    await cause(claims, name);
    await answer(round)(claims, name);
  };
}
