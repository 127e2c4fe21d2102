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
import type { KubeObject } from "@klutch/kube-core";
import { costOf } from "./price.ts";
import type { PriceBook } from "./price-list.ts";
import { PriceError } from "./price-text.ts";

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

/** Returns the lines of a period, sorted by tenant, service, plan, broker and month. */
export function billOf(recorded: Recorded, book: PriceBook, period: Period): readonly BillLine[] {
  const tenantOf = tenantsBy(recorded.namespaces);
  const used = [...goneRows(recorded), ...livingRows(recorded, period)].filter(
    ({ month }) => month >= period.since && (period.until === undefined || month < period.until),
  );
  const lines = new Map<string, BillLine>();
  for (const { namespace, ...row } of used) {
    const tenant = namespace === undefined ? "" : tenantOf(namespace);
    const key = JSON.stringify([tenant, row.service, row.plan, row.config, row.month]);
    const { seconds = 0, ended = 0 } = lines.get(key) ?? {};
    const sum = { ...row, tenant, seconds: seconds + row.seconds, ended: ended + row.ended };
    if (!Number.isSafeInteger(sum.seconds)) throw tooLarge(`the usage of ${row.plan} in ${row.month}`);
    const price = book.at(row.service, row.plan, row.month);
    const micros = price === undefined ? 0n : costOf(price, BigInt(sum.seconds));
    lines.set(key, { ...sum, currency: price?.currency, micros });
  }
  return [...lines].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, line]) => line);
}

type Row = LedgerRow & { readonly namespace: string | undefined };

function goneRows({ ledgers }: Recorded): readonly Row[] {
  return ledgers.flatMap(({ metadata, spec }) =>
    spec.rows.map((row, index) => {
      const place = `UsageLedger ${metadata.name}: spec.rows[${index}]`;
      if (!isMonth(row.month)) throw new PriceError(`${place}.month is no month, such as 2026-11.`);
      if (!Number.isSafeInteger(row.seconds) || row.seconds < 0 || row.seconds === Number.MAX_SAFE_INTEGER)
        throw tooLarge(`${place}.seconds`);
      return { ...row, namespace: spec.namespace };
    }),
  );
}

function tooLarge(what: string): PriceError {
  const most = Number.MAX_SAFE_INTEGER - 1;
  return new PriceError(`${what} is not a whole number between 0 and ${most}: look at who wrote it.`);
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
