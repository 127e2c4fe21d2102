/** Adds up what existed, by tenant, month and plan, and multiplies it with prices. No I/O. */
import {
  isMonth,
  type LedgerRow,
  missingSince,
  readServiceNamespaceOwner,
  rowsUntil,
  serviceNamespaceAnnotation,
  type ServiceInstance,
  type UsageLedger,
  usageNamespaceOf,
  usageOf,
  type UsedSeconds,
} from "@klutch/api";
import { isRecord, type KubeObject, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { costOf } from "./price.ts";
import type { PriceBook } from "./price-list.ts";

/** Usage of one plan by one tenant in one month. */
export interface BillLine extends UsedSeconds {
  /** Cluster namespace of the app cluster; another namespace of claims stands for itself. Empty for instances without a claim. */
  readonly tenant: string;
  /** Instances that ended. */
  readonly ended: number;
  /** Undefined if the plan has no price in that month. */
  readonly currency: string | undefined;
  /** Millionths; 0 without a price. */
  readonly micros: bigint;
}

/** Objects of the control plane. */
export interface Recorded {
  /** Read before the ledgers: an instance that goes in between is in both, and is counted once. */
  readonly instances: readonly ServiceInstance[];
  readonly ledgers: readonly UsageLedger[];
  readonly namespaces: readonly KubeObject[];
}

/** Months `since` to `until`, `YYYY-MM`; the second one is not included. Undefined: until `now`, in milliseconds since the epoch. */
export interface Period {
  readonly since: string;
  readonly until: string | undefined;
  readonly now: number;
}

/** A ledger that is not what the provider writes. */
export interface DamagedLedger {
  readonly name: string;
  /** Names its field and the expected value. */
  readonly fault: string;
}

/** The cost of a period. */
export interface Bill {
  /** Sorted by tenant, service, plan, broker and month. */
  readonly lines: readonly BillLine[];
  /** Ledgers that are in no line. */
  readonly damaged: readonly DamagedLedger[];
}

/** Returns the bill of a period. A damaged ledger hides only itself. */
export function billOf(recorded: Recorded, book: PriceBook, period: Period): Bill {
  const tenantOf = tenantsBy(recorded.namespaces);
  const { whole, damaged } = examined(recorded.ledgers);
  const known = { ...recorded, ledgers: whole };
  const used = [...goneRows(known), ...livingRows(known, period)].filter(
    ({ month }) => month >= period.since && (period.until === undefined || month < period.until),
  );
  const lines = new Map<string, BillLine>();
  for (const { namespace, ...row } of used) {
    const tenant = namespace === undefined ? "" : tenantOf(namespace);
    const key = JSON.stringify([tenant, row.service, row.plan, row.config, row.month]);
    const { seconds = 0, ended = 0 } = lines.get(key) ?? {};
    const sum = { ...row, tenant, seconds: seconds + row.seconds, ended: ended + row.ended };
    const price = book.at(row.service, row.plan, row.month);
    const micros = price === undefined ? 0n : costOf(price, BigInt(sum.seconds));
    lines.set(key, { ...sum, currency: price?.currency, micros });
  }
  const sorted = [...lines].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, line]) => line);
  return { lines: sorted, damaged };
}

type Row = LedgerRow & { readonly namespace: string | undefined };

function goneRows({ ledgers }: Recorded): readonly Row[] {
  return ledgers.flatMap(({ spec }) => spec.rows.map((row) => ({ ...row, namespace: spec.namespace })));
}

/**
 * The most seconds of a row: 380,000 databases through a month. Sums of honest rows stay far below the largest exact number, and a row that lies
 * cannot push them over it.
 */
const mostSeconds = 1_000_000_000_000;

function examined(ledgers: readonly UsageLedger[]): {
  readonly whole: readonly UsageLedger[];
  readonly damaged: readonly DamagedLedger[];
} {
  const whole: UsageLedger[] = [];
  const damaged: DamagedLedger[] = [];
  for (const ledger of ledgers) {
    const fault = ledgerFault(ledger);
    if (fault === undefined) whole.push(ledger);
    else damaged.push({ name: ledger.metadata.name ?? "", fault });
  }
  return { whole, damaged };
}

/** Returns the first fault. Where the kind is of another release, a ledger may be anything. */
function ledgerFault(ledger: UsageLedger): string | undefined {
  const rows: unknown = valueAt(ledger, "spec", "rows");
  if (!Array.isArray(rows)) return "spec.rows is no list";
  for (const [index, row] of rows.entries()) {
    const place = `spec.rows[${index}]`;
    const unnamed = ["service", "plan", "config"].find((name) => typeof recordAt(row)[name] !== "string");
    if (unnamed !== undefined) return `${place}.${unnamed} is no text`;
    if (!isMonth(textAt(row, "month") ?? "")) return `${place}.month is no month, such as 2026-11`;
    const wrong = ["seconds", "ended"].find((name) => !isCount(recordAt(row)[name]));
    if (wrong !== undefined) return `${place}.${wrong} is not a whole number between 0 and ${mostSeconds}`;
  }
  const recorded: unknown = valueAt(ledger, "spec", "recorded") ?? [];
  return Array.isArray(recorded) && recorded.every(isRecord)
    ? undefined
    : "spec.recorded is no list of entries";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= mostSeconds;
}

/** Usage of living instances. A ledger that has an instance's UID has its rows of that year. */
function livingRows({ instances, ledgers }: Recorded, { now }: Period): readonly Row[] {
  const inLedger = new Set(
    ledgers.flatMap(({ spec }) => (spec.recorded ?? []).map(({ uid }) => `${uid}/${spec.year}`)),
  );
  return instances.flatMap((instance) => {
    const namespace = usageNamespaceOf(instance);
    return rowsUntil(usageOf(instance), missingSince(instance) ?? now)
      .filter(({ month }) => !inLedger.has(`${instance.metadata.uid}/${Number(month.slice(0, 4))}`))
      .map((row) => ({ ...row, namespace, ended: 0 }));
  });
}

/** Finds the tenant of a namespace of claims by the annotation that the backend writes; once the namespace is gone, it stands for itself. */
function tenantsBy(namespaces: readonly KubeObject[]): (namespace: string) => string {
  const owners = new Map(
    namespaces.map(({ metadata }) => [metadata.name, metadata.annotations?.[serviceNamespaceAnnotation]]),
  );
  return (namespace) => readServiceNamespaceOwner(owners.get(namespace))?.clusterNamespace ?? namespace;
}
