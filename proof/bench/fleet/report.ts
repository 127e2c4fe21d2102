/** The fleet's figures as tables. */
import { formatTable } from "../harness/statistics.ts";
import { type CostLine, checkCost, type CostPoint, costAt, fitCost } from "./fit.ts";
import type { Cost } from "./measure.ts";
import type { Percentiles } from "../harness/statistics.ts";

/** One size of the fleet. */
export interface SizeRecord {
  readonly cost: Cost;
  /** True when the agents went through a gateway. */
  readonly isGated: boolean;
  /** Seconds that the logins of the app clusters that came took, and then their agents together. */
  readonly loginSeconds: number;
  readonly connectSeconds: number;
  readonly came: number;
  readonly roundTrip: Percentiles;
  /** Two bare writes through the same API server in the same minute, each of which is seen by a watch. */
  readonly floor: Percentiles;
}

/** Returns the table of the same sizes without and with a gateway, in the order in which they ran. */
export function formatGateway(records: readonly SizeRecord[]): string {
  const header = ["app clusters", "way", "watches of bound kinds", "all watches", "answered by the gateway"];
  const more = ["API server", "gateway", "requests/min", "round trip p50 / p99", "floor p50 / p99"];
  const rows = records.map(({ cost, isGated, roundTrip, floor }) => [
    String(cost.clusters),
    isGated ? "gateway" : "direct",
    String(cost.watches.bound),
    String(cost.watches.all),
    String(cost.served),
    `${cost.apiServerRss.toFixed(0)} MiB, ${cost.apiServerCpu.toFixed(1)} %`,
    isGated ? `${cost.gatewayRss.toFixed(0)} MiB, ${cost.gatewayCpu.toFixed(1)} %` : "–",
    cost.requestsPerMinute.toFixed(0),
    `${roundTrip.p50.toFixed(0)} / ${roundTrip.p99.toFixed(0)} ms`,
    `${floor.p50.toFixed(0)} / ${floor.p99.toFixed(0)} ms`,
  ]);
  return formatTable([...header, ...more], rows);
}

interface CostKind {
  readonly name: string;
  readonly of: (cost: Cost) => number;
  readonly digits: number;
}

const costKinds: readonly CostKind[] = [
  { name: "API server, MiB", of: ({ apiServerRss }) => apiServerRss, digits: 2 },
  { name: "its live heap, MiB", of: ({ apiServerHeap }) => apiServerHeap, digits: 2 },
  { name: "etcd, MiB", of: ({ etcdRss }) => etcdRss, digits: 2 },
  { name: "backend, MiB", of: ({ backendRss }) => backendRss, digits: 3 },
  { name: "API server, % of a processor", of: ({ apiServerCpu }) => apiServerCpu, digits: 3 },
  { name: "etcd, % of a processor", of: ({ etcdCpu }) => etcdCpu, digits: 3 },
  { name: "backend, % of a processor", of: ({ backendCpu }) => backendCpu, digits: 3 },
  { name: "requests a minute", of: ({ requestsPerMinute }) => requestsPerMinute, digits: 2 },
  { name: "watches", of: ({ watches }) => watches.all, digits: 1 },
  { name: "etcd, MiB of data", of: ({ etcdSize }) => etcdSize, digits: 3 },
];

/** Returns the table of what each size cost. */
export function formatSizes(records: readonly SizeRecord[]): string {
  const header = ["app clusters", "connect", "RSS API server / etcd / backend", "CPU, same", "requests/min"];
  const more = ["watches: all / bound / Secrets / Klutch", "round trip p50 / p99", "floor p50 / p99"];
  const rows = records.map(({ cost, connectSeconds, came, roundTrip, floor }) => [
    String(cost.clusters),
    came === 0 ? "–" : `${connectSeconds.toFixed(0)} s for ${came}`,
    `${[cost.apiServerRss, cost.etcdRss, cost.backendRss].map((one) => one.toFixed(0)).join(" / ")} MiB`,
    `${[cost.apiServerCpu, cost.etcdCpu, cost.backendCpu].map((one) => one.toFixed(1)).join(" / ")} %`,
    cost.requestsPerMinute.toFixed(0),
    [cost.watches.all, cost.watches.bound, cost.watches.secrets, cost.watches.klutch].join(" / "),
    `${roundTrip.p50.toFixed(0)} / ${roundTrip.p99.toFixed(0)} ms`,
    `${floor.p50.toFixed(0)} / ${floor.p99.toFixed(0)} ms`,
  ]);
  return formatTable([...header, ...more], rows);
}

/** Returns the table of the cost of one app cluster, checked at the largest size. Empty while there are fewer than two sizes. */
export function formatLines(costs: readonly Cost[]): string {
  if (costs.length < 2) return "";
  const header = ["cost", "without any", "each app cluster", "checked at the largest size"];
  const rows = costKinds.map(({ name, of, digits }) => {
    const points = costs.map((cost): CostPoint => [cost.clusters, of(cost)]);
    const line = fitCost(points);
    const checked = checkCost(points);
    const check =
      checked === undefined
        ? "–"
        : `expected ${checked.expected.toFixed(1)}, seen ${checked.seen.toFixed(1)} (${checked.offPercent.toFixed(0)} %)`;
    const far = farSizes.map((clusters) => farText(line, clusters));
    return [name, line.base.toFixed(1), line.each.toFixed(digits), check, ...far];
  });
  const titles = farSizes.map((clusters) => `${clusters.toLocaleString("en")}, extrapolated`);
  return formatTable([...header, ...titles], rows);
}

const farSizes = [1_000, 10_000];

/** A cost that falls with each app cluster is noise, and says nothing of larger sizes. */
function farText(line: CostLine, clusters: number): string {
  return line.each < 0 ? "no growth seen" : costAt(line, clusters).toFixed(0);
}

/** Names what each app cluster that came between two sizes watches: `9.0 things0, …`, the most first. */
export function formatWatches([first, last]: readonly [Cost, Cost]): string {
  const more = last.clusters - first.clusters;
  return Object.entries(last.watches.byResource)
    .map(([name, count]) => [name, (count - (first.watches.byResource[name] ?? 0)) / more] as const)
    .filter(([, each]) => each >= 0.05)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, each]) => `${each.toFixed(1)} ${name}`)
    .join(", ");
}
