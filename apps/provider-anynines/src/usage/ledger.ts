/**
 * Keeps the usage of instances and backups that go, before their finalizers go. One UsageLedger has the sums of a year of one namespace, so that any number of
 * lives takes a bounded place.
 *
 * | moment of a crash                            | then                                                                  |
 * |----------------------------------------------|-----------------------------------------------------------------------|
 * | before the write                             | the finalizer is there: the next reconcile writes                     |
 * | after the write, before the finalizer goes   | the next reconcile finds the UID in the ledger and writes nothing     |
 * | between the ledgers of two years             | each ledger knows by itself whether it has the UID                    |
 *
 * UID and sums are one write, guarded by the resourceVersion. A UID is forgotten once its managed resource is gone for a minute.
 */
import {
  addedBackups,
  type Backup,
  backupUsageOf,
  byteSecondsPattern,
  type KeptBackups,
  keptRowsUntil,
  type LedgerRow,
  missingSince,
  rowsUntil,
  samePlan,
  type ServiceInstance,
  type UsageLedger,
  usageLedgers,
  usageNamespaceOf,
  usageOf,
  type UsedSeconds,
} from "@klutch/api";
import type { CallOptions, Managed } from "@klutch/crossplane";
import { type Clock, isAlreadyExists, isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import { apiVersionOf, boundedName, wholeSeconds } from "@klutch/kube-core";
import type { Logger } from "@klutch/telemetry";

/** Dependencies of `UsageLedgers`. */
export interface UsageLedgersOptions {
  readonly client: Pick<KubeClient, "find" | "create" | "mergePatch">;
  readonly clock: Pick<Clock, "now">;
  readonly logger: Logger;
  /** UIDs of the existing managed resources. */
  readonly present: () => ReadonlySet<string>;
}

/** Plans of one ledger; usage of further ones is added to `otherPlans`. Tables have some dozens. */
const mostRows = 2_000;
const otherPlans = "other";
/** A cache may be behind by less. */
const forgetAfterMs = 60_000;
const mostTries = 5;

/** Writes one ledger after the other for a namespace, so that the deletion of many instances does not compete with itself. */
export class UsageLedgers {
  readonly #options: UsageLedgersOptions;
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: UsageLedgersOptions) {
    this.#options = options;
  }

  /** Counts the usage until now, or until the broker lost the instance, once. A control plane without the kind counts nothing. */
  async record(instance: ServiceInstance, options: CallOptions): Promise<void> {
    const rows = rowsUntil(usageOf(instance), missingSince(instance) ?? this.#options.clock.now());
    const last = rows.at(-1);
    const ended = rows.map((row) => ({ ...row, ended: row === last ? 1 : 0 }));
    await this.#record(instance, ended, options);
  }

  /** Counts the time in which a backup was kept, once, as `record` does. A backup that was never done counts nothing. */
  async recordBackup(backup: Backup, options: CallOptions): Promise<void> {
    const usage = backupUsageOf(backup);
    if (usage === undefined) return;
    const rows = keptRowsUntil(usage, this.#options.clock.now());
    await this.#record(
      backup,
      rows.map((row) => ({ ...row, seconds: 0, ended: 0 })),
      options,
    );
  }

  async #record(managed: Managed, rows: readonly AddedRow[], options: CallOptions): Promise<void> {
    for (const [year, ofYear] of Map.groupBy(rows, ({ month }) => Number(month.slice(0, 4)))) {
      try {
        await this.#inTurn(ledgerName(managed, year), (name) =>
          this.#add(name, { year, rows: ofYear, managed }, options),
        );
      } catch (error) {
        if (!isNotFound(error)) throw error;
        this.#options.logger.warn("usage is not recorded: the control plane does not serve UsageLedgers", {
          name: managed.metadata.name,
        });
      }
    }
  }

  async #inTurn(name: string, run: (name: string) => Promise<void>): Promise<void> {
    const before = this.#writing.get(name) ?? Promise.resolve();
    const turn = before.then(() => run(name));
    const settled = turn.catch(() => undefined);
    this.#writing.set(name, settled);
    try {
      await turn;
    } finally {
      if (this.#writing.get(name) === settled) this.#writing.delete(name);
    }
  }

  async #add(name: string, added: Added, options: CallOptions): Promise<void> {
    const { client, clock, present } = this.#options;
    for (let tries = 1; ; tries++) {
      const found = await client.find<UsageLedger>(usageLedgers, { name }, options);
      const spec = withUsage(found?.spec, added, { now: clock.now(), present });
      if (spec === undefined) return;
      try {
        if (found === undefined) await client.create(usageLedgers, newLedger(name, spec), options);
        else {
          const { resourceVersion } = found.metadata;
          await client.mergePatch(usageLedgers, { name }, { metadata: { resourceVersion }, spec }, options);
        }
        return;
      } catch (error) {
        if (tries >= mostTries || !(isConflict(error) || isAlreadyExists(error))) throw error;
      }
    }
  }
}

/** Usage of one instance or one backup in a month. */
interface AddedRow extends UsedSeconds {
  readonly ended: number;
  readonly backups?: KeptBackups;
}

interface Added {
  readonly year: number;
  readonly rows: readonly AddedRow[];
  readonly managed: Managed;
}

/** Returns the ledger's next content; undefined if it has the managed resource already. */
export function withUsage(
  spec: UsageLedger["spec"] | undefined,
  { year, rows, managed }: Added,
  { now, present }: { readonly now: number; readonly present: () => ReadonlySet<string> },
): UsageLedger["spec"] | undefined {
  const { uid = "" } = managed.metadata;
  const recorded = spec?.recorded ?? [];
  if (recorded.some((entry) => entry.uid === uid)) return undefined;
  const old = recorded.filter(({ at }) => Date.parse(at) + forgetAfterMs <= now);
  const there = old.length === 0 ? new Set<string>() : present();
  const kept = recorded.filter((entry) => !old.includes(entry) || there.has(entry.uid));
  const namespace = usageNamespaceOf(managed);
  return {
    ...(namespace === undefined ? {} : { namespace }),
    year,
    rows: rows.reduce(withRow, spec?.rows ?? []),
    recorded: [...kept, { uid, at: wholeSeconds(now) }],
  };
}

function withRow(rows: readonly LedgerRow[], added: AddedRow): readonly LedgerRow[] {
  const indexOf = (wanted: AddedRow): number =>
    rows.findIndex((row) => row.month === wanted.month && samePlan(row, wanted));
  const isNew = indexOf(added) < 0 && rows.length >= mostRows;
  const { backups, ...row } = isNew
    ? { ...added, service: otherPlans, plan: otherPlans, config: otherPlans }
    : added;
  const index = indexOf(row);
  const { seconds = 0, ended = 0, backups: before } = rows[index] ?? {};
  const ofBackups = withBackups(before, backups);
  const sum = {
    ...row,
    seconds: exact(seconds + row.seconds),
    ended: ended + row.ended,
    ...(ofBackups !== undefined && { backups: ofBackups }),
  };
  return index < 0 ? [...rows, sum] : rows.with(index, sum);
}

const isByteSeconds = new RegExp(byteSecondsPattern);

/** Adds backups up. Sums that someone damaged stay as they are: the bill names them. */
function withBackups(before: LedgerRow["backups"], added: KeptBackups | undefined): LedgerRow["backups"] {
  if (added === undefined) return before;
  if (before !== undefined && !isByteSeconds.test(before.byteSeconds)) return before;
  const known = before === undefined ? undefined : { ...before, byteSeconds: BigInt(before.byteSeconds) };
  const { made, seconds, unsizedSeconds, byteSeconds } = addedBackups(known, added);
  return {
    made,
    seconds: exact(seconds),
    unsizedSeconds: exact(unsizedSeconds),
    byteSeconds: String(byteSeconds),
  };
}

/** A sum that no number can hold stays at the largest one that is exact. */
function exact(sum: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, sum);
}

/**
 * `<namespace>.<year>`, or the year alone for claims of no namespace; no namespace has a dot. Each scope of managed resources has ledgers of its own,
 * because each knows only its own UIDs.
 */
function ledgerName(managed: Managed, year: number): string {
  const scope = managed.metadata.namespace === undefined ? undefined : "namespaced";
  const parts = [usageNamespaceOf(managed), String(year), scope].filter((part) => part !== undefined);
  return boundedName(parts.join("."), 253);
}

function newLedger(name: string, spec: UsageLedger["spec"]): UsageLedger {
  return { apiVersion: apiVersionOf(usageLedgers), kind: usageLedgers.kind, metadata: { name }, spec };
}
