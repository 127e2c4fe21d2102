/** Tells which further APIs the people of an app cluster may bind: only such an API is announced to it (designs/0034-additions.md). */
import type { Grant, TemplateReference } from "@klutch/api";
import type { MayBind } from "./bind-rights.ts";
import type { User } from "./user-claims.ts";

/** Tells whether anyone who has bound an API for the app cluster may bind this template, too. */
export type MayAdd = (
  namespace: string,
  template: TemplateReference,
  signal: AbortSignal,
) => Promise<boolean>;

/** People who are asked about, those who bound last: an app cluster is not to choose how many questions the API server gets. */
const mostPeople = 8;

/**
 * Creates the answer. It is no right: who binds is asked again then. An app cluster of an AppClusterBinding gets its APIs from an operator, who
 * needs no announcement.
 */
export function createMayAdd(parts: {
  readonly recordsIn: (namespace: string) => readonly Grant[];
  /** Returns true for a namespace of an AppClusterBinding. */
  readonly isOperators: (namespace: string) => boolean;
  /** Undefined where everyone may bind everything. */
  readonly mayBind: MayBind | undefined;
}): MayAdd {
  const { recordsIn, isOperators, mayBind } = parts;
  return async (namespace, template, signal) => {
    if (isOperators(namespace)) return false;
    if (mayBind === undefined) return true;
    for (const user of peopleOf(recordsIn(namespace))) if (await mayBind(user, template, signal)) return true;
    return false;
  };
}

/** Returns each person once, with the groups of the last time. */
function peopleOf(records: readonly Grant[]): readonly User[] {
  const people = new Map<string, User>();
  const living = records.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  for (const { spec } of living.toSorted(lastFirst)) {
    const { user, groups = [] } = spec.identity;
    if (people.size < mostPeople && !people.has(user)) people.set(user, { user, groups });
  }
  return [...people.values()];
}

function lastFirst({ spec: one }: Grant, { spec: other }: Grant): number {
  return one.boundAt < other.boundAt ? 1 : -1;
}
