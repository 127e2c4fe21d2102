/** Judges a run from the results that applications saw and from the ledger. */
import { databaseOf, type Entry, tables } from "./ledger.ts";

/** One chain, as its user saw it. */
export interface ChainResult {
  readonly name: string;
  /** The database of its credentials; undefined when it got none. */
  readonly database: string | undefined;
  /** The earlier ids of its instance at the broker. */
  readonly formerIds: readonly string[];
  /** UIDs of the managed resources of its instance claim, oldest first: one, or another one after the end. */
  readonly managedUids: readonly string[];
  /** Descriptions of everything that is missing. */
  readonly lost: readonly string[];
  readonly seconds: number;
}

/** All empty when everything is as it should be. */
export interface Verdict {
  /** Rows, objects or whole chains that are not there although they should be. */
  readonly lost: readonly string[];
  /** Objects that were made twice, or for no chain. */
  readonly double: readonly string[];
  /**
   * No fault: instances and bindings that were removed unused before they were made again, because the answer was lost (OSB 2.17 "Orphan
   * Mitigation"); and instances that were made after the chain's own was gone, and removed unused. A reconcile of Crossplane that began before
   * the claim was deleted, and waited for its function, then applies the managed resource again, and the garbage collector takes that one, too.
   */
  readonly undone: readonly string[];
}

/** Each chain has one instance, one binding, one backup and one restore; nothing else was ever made. */
export function judge(chains: readonly ChainResult[], entries: readonly Entry[]): Verdict {
  const lost = chains.flatMap(({ name, lost: missing }) => missing.map((what) => `${name}: ${what}`));
  const double: string[] = [];
  const undone: string[] = [];
  const made = entries.filter(({ did }) => did === "INSERT");
  const nameOf = new Map(chains.map(({ name, database }) => [database, name]));
  const databases = new Set(made.map((entry) => databaseOf(entry.instanceId)));
  for (const { name, database } of chains)
    if (database === undefined || !databases.has(database)) lost.push(`${name}: no instance`);
  for (const instanceId of new Set(made.map((entry) => entry.instanceId))) {
    const own = entries.filter((entry) => entry.instanceId === instanceId);
    const name = nameOf.get(databaseOf(instanceId));
    const chain = chains.find(({ formerIds, managedUids }) =>
      [...formerIds, ...managedUids].includes(instanceId),
    );
    if (name === undefined && chain !== undefined && wasUndone(own, chain, entries)) {
      undone.push(`${chain.name}: instance ${instanceId}`);
      continue;
    }
    if (name === undefined) {
      const more = chain === undefined ? "" : namesAndOrder(instanceId, chain, entries);
      double.push(`instance ${instanceId} was made for no chain (${historyOf(own)})${more}`);
    }
    const unused = unusedBindings(own);
    undone.push(...unused.map(({ id }) => `${name ?? instanceId}: binding ${id}`));
    for (const table of tables) {
      const rows = own.filter(
        (entry) => entry.table === table && entry.did === "INSERT" && !unused.includes(entry),
      );
      const what = `${name ?? instanceId}: ${rows.length} ${table}`;
      if (rows.length > 1) double.push(`${what} (${historyOf(own)})`);
      if (rows.length === 0 && name !== undefined) lost.push(what);
    }
  }
  return { lost, double, undone };
}

/** Returns true if an application that got this text as its `uri` would have reached the database. */
export function leadsTo(uri: string | undefined, database: string | undefined): boolean {
  if (uri === undefined || !URL.canParse(uri)) return false;
  return new URL(uri).pathname === `/${database}`;
}

/** Nothing was ever made in it, and it was there only before the chain's instance or, by another managed resource, after it. */
function wasUndone(
  own: readonly Entry[],
  { database, formerIds }: ChainResult,
  entries: readonly Entry[],
): boolean {
  const [made, removed] = own;
  if (made === undefined || removed === undefined) return false;
  if (own.map(({ table, did }) => `${did} ${table}`).join() !== "INSERT instances,DELETE instances")
    return false;
  const isOfChain = (entry: Entry): boolean => databaseOf(entry.instanceId) === database;
  if (formerIds.includes(made.instanceId)) return entries.indexOf(removed) < entries.findIndex(isOfChain);
  const last = entries.findLastIndex(isOfChain);
  return (
    entries[last]?.table === "instances" && entries[last].did === "DELETE" && last < entries.indexOf(made)
  );
}

/** Returns the bindings that were removed before the chain's first backup, which its application asks for after it used the credentials. */
function unusedBindings(own: readonly Entry[]): readonly Entry[] {
  const backup = own.findIndex(({ table }) => table === "backups");
  const early = (backup < 0 ? own : own.slice(0, backup)).filter(({ table }) => table === "bindings");
  return early.filter(({ id, did }, index) => {
    const next = early[index + 1];
    return did === "INSERT" && next?.did === "DELETE" && next.id === id;
  });
}

/** Tells the names that a chain knew its instances by, and what came first, so that the cause can be found from the report alone. */
function namesAndOrder(
  instanceId: string,
  { name, database, formerIds, managedUids }: ChainResult,
  entries: readonly Entry[],
): string {
  const both = entries.filter((entry) =>
    [database, databaseOf(instanceId)].includes(databaseOf(entry.instanceId)),
  );
  const former = formerIds.join(", ") || "none";
  return `; ${name} had the former ids ${former} and the managed resources ${managedUids.join(", ")}: ${historyOf(both)}`;
}

/** Tells in the order of time what was written and removed, so that a second object can be understood from the report alone. */
function historyOf(own: readonly Entry[]): string {
  return own.map(({ did, table, id }) => `${did} ${table} ${id}`).join(", ");
}
