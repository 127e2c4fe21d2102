/** Adds up what existed, by tenant, month and plan, and multiplies it with prices. No I/O. */
import {
  addedBackups,
  type Backup,
  backupUsageOf,
  type KeptBackups,
  keptRowsUntil,
  type LedgerRow,
  measuredOf,
  existingPlanOf,
  missingSince,
  monthAt,
  rowsUntil,
  samePlan,
  type ServiceInstance,
  type UsageLedger,
  usageNamespaceOf,
  usageOf,
  type UsedPlan,
  type UsedSeconds,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { type DamagedLedger, examined } from "./ledger-fault.ts";
import { ownersBy } from "./owners.ts";
import { backupCostOf, costOf } from "./price.ts";
import type { PriceBook } from "./price-list.ts";

/** Usage of one plan by one tenant in one month. */
export interface BillLine extends UsedSeconds {
  /** Cluster namespace of the app cluster; another namespace of claims stands for itself. Empty for instances without a claim. */
  readonly tenant: string;
  /** Instances that ended. */
  readonly ended: number;
  /** Absent if no backup was kept. */
  readonly backups?: BilledBackups;
  /** Absent if no size is known, and in months that are not the present one. */
  readonly data?: BilledData;
  /** Undefined if the plan has no price in that month. */
  readonly currency: string | undefined;
  /** Millionths, those of backups included; 0 without a price. */
  readonly micros: bigint;
}

/** Backups of a line. */
export interface BilledBackups extends KeptBackups {
  /** Millionths: the part of the backups whose size is known; undefined if the plan has no price for backups. */
  readonly micros: bigint | undefined;
}

/** Size of the databases of a line that exist now. It costs nothing. */
export interface BilledData {
  /** Sum of the known sizes. */
  readonly bytes: bigint;
  /** Number of databases of a known size. */
  readonly sized: number;
  /** Number of databases of an unknown size. */
  readonly unsized: number;
}

/** Objects of the control plane. */
export interface Recorded {
  /** Read before the ledgers: an instance that goes in between is in both, and is counted once. */
  readonly instances: readonly ServiceInstance[];
  /** Read before the ledgers too. */
  readonly backups: readonly Backup[];
  readonly ledgers: readonly UsageLedger[];
  readonly namespaces: readonly KubeObject[];
}

/** Months `since` to `until`, `YYYY-MM`; the second one is not included. Undefined: until `now`, in milliseconds since the epoch. */
export interface Period {
  readonly since: string;
  readonly until: string | undefined;
  readonly now: number;
}

/** A backup whose manager tells a size that is none, or not that of before. */
export interface DoubtfulBackup {
  /** As in a line. */
  readonly tenant: string;
  /** Name of the managed resource. */
  readonly name: string;
  readonly fault: string;
  /** False: the backup counts with an unknown size; true: with the size that the manager told first. */
  readonly isSized: boolean;
}

/** The cost of a period. */
export interface Bill {
  /** Sorted by tenant, service, plan, broker and month. */
  readonly lines: readonly BillLine[];
  /** Ledgers that are in no line. */
  readonly damaged: readonly DamagedLedger[];
  /** Existing backups whose size is in doubt, of the period. */
  readonly doubtful: readonly DoubtfulBackup[];
}

/** Returns the bill of a period. A damaged ledger hides only itself. */
export function billOf(recorded: Recorded, book: PriceBook, period: Period): Bill {
  const ownerOf = ownersBy(recorded.namespaces);
  const tenantOf = (namespace: string | undefined): string => ownerOf(namespace).tenant;
  const { whole, damaged } = examined(recorded.ledgers);
  const known = { ...recorded, ledgers: whole };
  const isMeant = inPeriod(period);
  const used = [...goneRows(known), ...livingRows(known, period), ...keptRows(known, period)].filter(isMeant);
  const sums = new Map<string, Sum>();
  for (const { namespace, ...row } of used) {
    const tenant = tenantOf(namespace);
    const key = JSON.stringify([tenant, row.service, row.plan, row.config, row.month]);
    const before = sums.get(key);
    const backups = row.backups === undefined ? before?.backups : addedBackups(before?.backups, row.backups);
    const [seconds, ended] = [row.seconds + (before?.seconds ?? 0), row.ended + (before?.ended ?? 0)];
    const data = row.data === undefined ? before?.data : addedData(before?.data, row.data);
    sums.set(key, { ...row, tenant, seconds, ended, backups, data });
  }
  const lines = [...sums]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, sum]) => lineOf(sum, book));
  const doubtful = recorded.backups.flatMap((backup) => doubtOf(backup, period, tenantOf));
  return { lines, damaged, doubtful };
}

function inPeriod({ since, until }: Period): (row: { readonly month: string }) => boolean {
  return ({ month }) => month >= since && (until === undefined || month < until);
}

type Sum = Omit<BillLine, "backups" | "data" | "currency" | "micros"> & {
  readonly backups: KeptBackups | undefined;
  readonly data: BilledData | undefined;
};

/** Adds two sizes up. */
export function addedData(one: BilledData | undefined, other: BilledData): BilledData {
  if (one === undefined) return other;
  return {
    bytes: one.bytes + other.bytes,
    sized: one.sized + other.sized,
    unsized: one.unsized + other.unsized,
  };
}

function lineOf({ backups, data, ...sum }: Sum, book: PriceBook): BillLine {
  const price = book.at(sum.service, sum.plan, sum.month);
  const ofBackups =
    price === undefined || backups === undefined ? undefined : backupCostOf(price, backups.byteSeconds);
  const ofInstances = price === undefined ? 0n : costOf(price, BigInt(sum.seconds));
  return {
    ...sum,
    ...(backups !== undefined && { backups: { ...backups, micros: ofBackups } }),
    ...(data !== undefined && data.sized > 0 && { data }),
    currency: price?.currency,
    micros: ofInstances + (ofBackups ?? 0n),
  };
}

type Row = Omit<LedgerRow, "backups"> & {
  readonly backups?: KeptBackups;
  readonly data?: BilledData;
  readonly namespace: string | undefined;
};

function goneRows({ ledgers }: Recorded): readonly Row[] {
  return ledgers.flatMap(({ spec }) =>
    spec.rows.map(({ backups, ...row }) => ({
      ...row,
      namespace: spec.namespace,
      ...(backups !== undefined && {
        backups: { ...backups, byteSeconds: BigInt(backups.byteSeconds) },
      }),
    })),
  );
}

/** Usage of living instances. */
function livingRows(recorded: Recorded, { now }: Period): readonly Row[] {
  const isCounted = countedIn(recorded);
  const present = monthAt(now);
  return recorded.instances.flatMap((instance) => {
    const namespace = usageNamespaceOf(instance);
    const size = dataOf(instance, now);
    return rowsUntil(usageOf(instance), missingSince(instance) ?? now)
      .filter(({ month }) => !isCounted(instance, month))
      .map((row): Row => {
        const isPresent = size !== undefined && row.month === present && samePlan(row, size);
        return { ...row, namespace, ended: 0, ...(isPresent && { data: size.data }) };
      });
  });
}

/** Returns the size of an instance that exists now, and the plan that it has. */
function dataOf(
  instance: ServiceInstance,
  now: number,
): (UsedPlan & { readonly data: BilledData }) | undefined {
  const plan = existingPlanOf(instance);
  if (plan === undefined) return undefined;
  const bytes = measuredOf(instance, now)?.bytes;
  const isSized = bytes !== undefined;
  return { ...plan, data: { bytes: BigInt(bytes ?? 0), sized: isSized ? 1 : 0, unsized: isSized ? 0 : 1 } };
}

/** Usage of backups whose managed resources exist. */
function keptRows(recorded: Recorded, { now }: Period): readonly Row[] {
  const isCounted = countedIn(recorded);
  return recorded.backups.flatMap((backup) => {
    const namespace = usageNamespaceOf(backup);
    const usage = backupUsageOf(backup);
    return (usage === undefined ? [] : keptRowsUntil(usage, now))
      .filter(({ month }) => !isCounted(backup, month))
      .map((row) => ({ ...row, namespace, seconds: 0, ended: 0 }));
  });
}

/** A ledger that has the UID of a managed resource has its rows of that year. */
function countedIn({ ledgers }: Recorded): (object: Pick<KubeObject, "metadata">, month: string) => boolean {
  const inLedger = new Set(
    ledgers.flatMap(({ spec }) => (spec.recorded ?? []).map(({ uid }) => `${uid}/${spec.year}`)),
  );
  return ({ metadata }, month) => inLedger.has(`${metadata.uid}/${Number(month.slice(0, 4))}`);
}

function doubtOf(
  backup: Backup,
  period: Period,
  tenantOf: (namespace: string | undefined) => string,
): readonly DoubtfulBackup[] {
  const usage = backupUsageOf(backup);
  if (usage?.fault === undefined) return [];
  if (!keptRowsUntil(usage, period.now).some(inPeriod(period))) return [];
  const { fault, bytes } = usage;
  const { name = "" } = backup.metadata;
  return [{ tenant: tenantOf(usageNamespaceOf(backup)), name, fault, isSized: bytes !== undefined }];
}
