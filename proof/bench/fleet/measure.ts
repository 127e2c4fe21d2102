/** Reads the fleet's cost off the machine and the API server, at one moment and over a steady time. */
import { setTimeout as sleep } from "node:timers/promises";
import { textAt } from "@klutch/kube-core";
import { openWatchesIn, samplesOf, serverMetrics } from "@klutch/kube-testing";
import { cpuSecondsOf, memoryOf } from "../harness/process-memory.ts";
import type { FleetControlPlane } from "./control-plane.ts";
import type { Fleet } from "./processes.ts";

/** Open watches of the API server by the resource that they watch. */
export interface WatchCounts {
  readonly all: number;
  /** Watches of the fleet's kinds, of Secrets, and of Klutch's own kinds. */
  readonly bound: number;
  readonly secrets: number;
  readonly klutch: number;
  /** By resource, as `group/resource`. */
  readonly byResource: Readonly<Record<string, number>>;
}

/** The cost at one moment and in the seconds before it. */
export interface Cost {
  readonly clusters: number;
  /** MiB resident. */
  readonly apiServerRss: number;
  readonly etcdRss: number;
  readonly backendRss: number;
  /** 0 without a gateway. */
  readonly gatewayRss: number;
  /** MiB of live heap of the API server: half of the size at which it collects next. */
  readonly apiServerHeap: number;
  /** Percent of one processor. */
  readonly apiServerCpu: number;
  readonly etcdCpu: number;
  readonly backendCpu: number;
  readonly gatewayCpu: number;
  /** All processes with agents and modelled app clusters together. */
  readonly agentsCpu: number;
  readonly agentsRss: number;
  readonly requestsPerMinute: number;
  /** Watches that the gateway answers. */
  readonly served: number;
  readonly watches: WatchCounts;
  /** MiB in use, revisions before the next compaction included. */
  readonly etcdSize: number;
}

interface Ticks {
  readonly at: number;
  readonly apiServer: number;
  readonly etcd: number;
  readonly backend: number;
  readonly gateway: number;
  readonly agents: number;
  readonly requests: number;
}

/** Waits until agents make few requests, then measures for a time. */
export async function steadyCost(
  controlPlane: FleetControlPlane,
  fleet: Pick<Fleet, "pids">,
  { clusters, seconds }: { readonly clusters: number; readonly seconds: number },
): Promise<Cost> {
  await untilSteady(controlPlane);
  const before = await ticksOf(controlPlane, fleet);
  await sleep(seconds * 1000);
  const after = await ticksOf(controlPlane, fleet);
  const passed = (after.at - before.at) / 1000;
  const cpu = (name: Exclude<keyof Ticks, "at" | "requests">): number =>
    (100 * (after[name] - before[name])) / passed;
  const { cluster, backend, gateway } = controlPlane;
  const text = await metricsOf(controlPlane);
  const status: unknown = JSON.parse(await cluster.askEtcd("/v3/maintenance/status", {}));
  const inUse = Number(textAt(status, "dbSizeInUse") ?? textAt(status, "dbSize"));
  return {
    clusters,
    apiServerRss: memoryOf(cluster.apiServer.pid).rss,
    etcdRss: memoryOf(cluster.etcd.pid).rss,
    backendRss: memoryOf(backend.pid).rss,
    gatewayRss: gateway === undefined ? 0 : memoryOf(gateway.pid).rss,
    apiServerHeap: (samplesOf(text, "go_memstats_next_gc_bytes")[0]?.value ?? 0) / 2 / 1024 ** 2,
    apiServerCpu: cpu("apiServer"),
    etcdCpu: cpu("etcd"),
    backendCpu: cpu("backend"),
    gatewayCpu: cpu("gateway"),
    agentsCpu: cpu("agents"),
    agentsRss: fleet.pids.reduce((sum, pid) => sum + memoryOf(pid).rss, 0),
    requestsPerMinute: (60 * (after.requests - before.requests)) / passed,
    served: await servedWatches(controlPlane),
    watches: watchesIn(text),
    etcdSize: inUse / 1024 ** 2,
  };
}

/** Returns the open watches that the text of an API server's metrics counts. */
export function watchesIn(text: string): WatchCounts {
  const open = openWatchesIn(text);
  const count = (isMeant: (labels: Readonly<Record<string, string>>) => boolean): number =>
    open.reduce((sum, { labels, value }) => sum + (isMeant(labels) ? value : 0), 0);
  const byResource: Record<string, number> = {};
  for (const { labels, value } of open) {
    const name = `${labels["group"] ?? ""}/${labels["resource"] ?? ""}`;
    byResource[name] = (byResource[name] ?? 0) + value;
  }
  return {
    byResource,
    all: count(() => true),
    bound: count(({ group }) => group === "fleet.klutch.example"),
    secrets: count(({ group, resource }) => group === "" && resource === "secrets"),
    klutch: count(({ group }) => group?.endsWith("klutch.anynines.com") === true),
  };
}

/** Returns the number of watches that are open now. */
export async function openWatches(controlPlane: FleetControlPlane): Promise<number> {
  return watchesIn(await metricsOf(controlPlane)).all;
}

/** Returns the number of requests since the API server's start; a watch counts when it ends. */
export async function requestCount(controlPlane: FleetControlPlane): Promise<number> {
  return requestsIn(await metricsOf(controlPlane));
}

async function servedWatches({ gateway }: FleetControlPlane): Promise<number> {
  if (gateway === undefined) return 0;
  const answer = await fetch(`${gateway.probeUrl}/metrics`);
  return samplesOf(await answer.text(), "klutch_gateway_served_watches")[0]?.value ?? 0;
}

const checkSeconds = 5;
const longestWaitSeconds = 60;

/** Waits until two readings on end have next to no change in the rate, at most a minute. */
async function untilSteady(controlPlane: FleetControlPlane): Promise<void> {
  const deadline = performance.now() + longestWaitSeconds * 1000;
  let [last, same] = [Number.POSITIVE_INFINITY, 0];
  let requests = requestsIn(await metricsOf(controlPlane));
  while (same < 3 && performance.now() < deadline) {
    await sleep(checkSeconds * 1000);
    const now = requestsIn(await metricsOf(controlPlane));
    const rate = (now - requests) / checkSeconds;
    same = Math.abs(rate - last) <= Math.max(2, last / 4) ? same + 1 : 0;
    [last, requests] = [rate, now];
  }
}

async function ticksOf(controlPlane: FleetControlPlane, fleet: Pick<Fleet, "pids">): Promise<Ticks> {
  const { cluster, backend, gateway } = controlPlane;
  const requests = requestsIn(await metricsOf(controlPlane));
  return {
    at: performance.now(),
    apiServer: cpuSecondsOf(cluster.apiServer.pid),
    etcd: cpuSecondsOf(cluster.etcd.pid),
    backend: cpuSecondsOf(backend.pid),
    gateway: gateway === undefined ? 0 : cpuSecondsOf(gateway.pid),
    agents: fleet.pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0),
    requests,
  };
}

/** Requests since the API server's start; a watch counts when it ends. */
function requestsIn(text: string): number {
  return samplesOf(text, "apiserver_request_total").reduce((sum, { value }) => sum + value, 0);
}

function metricsOf({ cluster }: FleetControlPlane): Promise<string> {
  return serverMetrics(cluster);
}
