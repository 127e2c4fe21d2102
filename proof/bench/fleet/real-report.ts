/** Figures of real app clusters as a table. */
import { formatTable, type Percentiles } from "../harness/statistics.ts";
import type { Cost } from "./measure.ts";
import type { ClaimTimes } from "./real-cluster.ts";

/** Both ways of claims, in milliseconds. */
export type Ways = Readonly<Record<keyof ClaimTimes, Percentiles>>;

/** One size. */
export interface RealRecord {
  readonly cost: Cost;
  /** The number of app clusters that came, all at once. */
  readonly came: number;
  /** Milliseconds until all of them had their first rights and had asked for all APIs. */
  readonly loginMs: number;
  /** Milliseconds from the start of each konnector until its bindings are Ready and its first claims in the control plane. */
  readonly connect: Percentiles;
  /** One claim at a time in the whole fleet, app clusters in turn. */
  readonly alone: Ways;
  /** One claim at a time in each app cluster, all of them at once. */
  readonly together: Ways;
  /** Median of the konnectors' resident MiB, and the largest. */
  readonly konnectorRss: number;
  readonly konnectorLargest: number;
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  /** Parts that one cell shows: a median and its tail, or a single value. */
  readonly of: (record: RealRecord) => readonly number[];
}

const tail = ({ p50, p99 }: Percentiles): readonly number[] => [p50, p99];

const figures: readonly Figure[] = [
  { name: "logins, all APIs asked for", unit: "s", of: ({ loginMs }) => [loginMs / 1000] },
  {
    name: "connect, p50; max",
    unit: "s",
    of: ({ connect: { p50, max } }) => [p50 / 1000, max / 1000],
  },
  { name: "claim → upstream alone, p50; p99", unit: "ms", of: ({ alone }) => tail(alone.up) },
  { name: "status → claim alone, p50; p99", unit: "ms", of: ({ alone }) => tail(alone.down) },
  { name: "claim → upstream, all at once", unit: "ms", of: ({ together }) => tail(together.up) },
  { name: "status → claim, all at once", unit: "ms", of: ({ together }) => tail(together.down) },
  {
    name: "konnector, median; largest",
    unit: "MiB",
    of: ({ konnectorRss, konnectorLargest }) => [konnectorRss, konnectorLargest],
  },
  { name: "API server of the control plane", unit: "MiB", of: ({ cost }) => [cost.apiServerRss] },
  { name: "its CPU time", unit: "%", of: ({ cost }) => [cost.apiServerCpu] },
  { name: "etcd", unit: "MiB", of: ({ cost }) => [cost.etcdRss] },
  { name: "backend", unit: "MiB", of: ({ cost }) => [cost.backendRss] },
  { name: "konnectors, CPU time of all", unit: "%", of: ({ cost }) => [cost.agentsCpu] },
  { name: "requests a minute", unit: "", of: ({ cost }) => [cost.requestsPerMinute] },
  { name: "watches", unit: "", of: ({ cost }) => [cost.watches.all] },
];

/** Returns a table with a column for each size; further ones say in brackets how often they have what the first has. */
export function formatReal(records: readonly RealRecord[]): string {
  const [first] = records;
  const header = ["", ...records.map(({ cost, came }) => `${cost.clusters} (${came} came)`)];
  const rows = figures.map(({ name, unit, of }) => {
    const base = first === undefined ? [] : of(first);
    const cells = records.map((record) => {
      const values = of(record);
      const text = `${values.map(short).join("; ")} ${unit}`.trim();
      return record === first
        ? text
        : `${text} (${values.map((value, at) => ratio(value, base[at])).join("; ")})`;
    });
    return [name, ...cells];
  });
  return formatTable(header, rows);
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}

/** Nothing is a multiple of nothing. */
function ratio(value: number, base: number | undefined): string {
  return base === undefined || base === 0 ? "–" : `${(value / base).toFixed(2)} ×`;
}
