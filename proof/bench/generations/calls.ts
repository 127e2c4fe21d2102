/** The agent's calls for each thing that happens to a claim, by the API servers' own counters. */
import { inParallel } from "../harness/api.ts";
import { type CallCount, isWrite, totalOf } from "../harness/calls.ts";
import { counted } from "../harness/quiet.ts";
import { benchGroup } from "../harness/widget.ts";
import { answer, type BoundKind, create, edit, label, stamp } from "./bound-kind.ts";

/** For one claim. */
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

type Deed = (bound: BoundKind, name: string) => Promise<void>;

const life: readonly (readonly [what: string, deed: Deed])[] = [
  ["made, and not answered for seconds", create],
  ["then answered", (bound, name) => answer(bound, name, 1)],
  ["another status without an edit", (bound, name) => answer(bound, name, 2)],
  ["a label edited", (bound, name) => label(bound, name, "blue")],
  ["the spec edited, and not answered for seconds", (bound, name) => edit(bound, name, 2)],
  ["then what was said before stamped with the new generation", stamp],
  ["then answered", (bound, name) => answer(bound, name, 3)],
  ["the spec edited, and answered at once", both((bound, name) => edit(bound, name, 3), 4)],
];
const quickLife: typeof life = [["made, and answered at once", both(create, 1)]];

/** Leads `count` claims of each kind through it. */
export async function countCalls(
  kinds: readonly BoundKind[],
  count: number,
  tell: (happening: Happening) => void,
): Promise<void> {
  for (const [prefix, deeds] of [
    ["quick", quickLife],
    ["calls", life],
  ] as const)
    for (const [what, deed] of deeds) {
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      tell({ what, calls: await callsFor(kinds, names, deed) });
    }
}

async function callsFor(
  kinds: readonly BoundKind[],
  names: readonly string[],
  deed: Deed,
): Promise<readonly Calls[]> {
  const [first] = kinds;
  if (first === undefined) return [];
  const { consumer, provider } = await counted(first.world, async () => {
    for (const bound of kinds) await inParallel(names, (name) => deed(bound, name));
  });
  const all = [...consumer.byKind, ...provider.byKind];
  return kinds.map(({ treatment }) =>
    callsOf(all, `${benchGroup}/${treatment.kind.type.plural}`, names.length),
  );
}

/** Those of one resource, divided by the number of claims. */
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
  return async (bound, name) => {
    await cause(bound, name);
    await answer(bound, name, round);
  };
}
