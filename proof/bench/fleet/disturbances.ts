/**
 * Disturbances with the whole fleet connected: the schema of an API changes for all, one tenant misbehaves, the backend is killed, the API
 * server is killed, and a tenth of the agents goes and comes back.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceNamespaceName } from "@klutch/api";
import { customResourceDefinitions } from "@klutch/kube-core";
import { cpuSecondsOf, memoryOf } from "../harness/process-memory.ts";
import { type Percentiles, quantile, secondsText } from "../harness/statistics.ts";
import { untilUpstream } from "../harness/upstream-edits.ts";
import { rateOf, wallClock } from "../harness/wire-log.ts";
import { workNamespace } from "./app-cluster.ts";
import type { FleetControlPlane } from "./control-plane.ts";
import { firstClaim, fleetKind, timedKind } from "./kinds.ts";
import { openWatches, requestCount } from "./measure.ts";
import { startMisbehaving } from "./misbehaving.ts";
import type { Fleet } from "./processes.ts";

/** The connected fleet. */
export interface Scene {
  readonly controlPlane: FleetControlPlane;
  readonly fleet: Fleet;
  readonly names: readonly string[];
  /** Times claims, spread over the app clusters. */
  readonly roundTrip: () => Promise<Percentiles>;
  /** Watches that the misbehaving tenant asks for. */
  readonly flood: number;
}

/** Does one after the other, and prints what followed. */
export async function disturb(scene: Scene): Promise<void> {
  await rollOutSchema(scene);
  await withMisbehavingTenant(scene);
  await restartBackend(scene);
  await restartApiServer(scene);
  await leaveAndComeBack(scene);
}

/** Adds a field to the timed kind, and waits until the CRD of each app cluster has it. */
async function rollOutSchema({ controlPlane, fleet, names }: Scene): Promise<void> {
  const { cluster } = controlPlane;
  await fleet.tell({});
  const [cpu, requests] = [cpuSecondsOf(cluster.apiServer.pid), await requestCount(controlPlane)];
  const reached = fleet.tell({ field: addedField });
  const changedAt = wallClock();
  const { spec } = fleetKind(0, addedField).crd;
  await cluster.client.mergePatch(customResourceDefinitions, { name: timedKind.crdName }, { spec });
  const { fieldAt, wire } = await reached;
  const lags = fieldAt.map((at) => at - changedAt);
  const spent = cpuSecondsOf(cluster.apiServer.pid) - cpu;
  const all = (await requestCount(controlPlane)) - requests;
  await sleep(settleMs);
  const { unready } = await fleet.tell({});
  console.log(
    `schema of one API changed: in ${lags.length} of ${names.length} app clusters after ${[0.5, 0.9, 1].map((share) => secondsText(quantile(lags, share))).join(", ")} (half, nine tenths, all); ${wire.length} requests of agents, ${all} of all; API server ${spent.toFixed(1)} s of CPU time; not Ready ${settleMs / 1000} s later: ${unready.length}`,
  );
}

const addedField = "addedLater";
const settleMs = 5_000;

/** One tenant opens thousands of watches, lists in loops and writes objects of 1 MB; the others' claims are timed before and meanwhile. */
async function withMisbehavingTenant(scene: Scene): Promise<void> {
  const { controlPlane, roundTrip, flood } = scene;
  const { cluster } = controlPlane;
  const before = await roundTrip();
  const [rss, watches] = [memoryOf(cluster.apiServer.pid).rss, await openWatches(controlPlane)];
  await using misbehaving = await startMisbehaving(controlPlane, flood);
  const opened = await openWatches(controlPlane);
  const meanwhile = await roundTrip();
  const { rss: now, peak } = memoryOf(cluster.apiServer.pid);
  const { lists, writes } = await misbehaving.end();
  const text = ({ p50, p99 }: Percentiles): string => `${p50.toFixed(0)}; ${p99.toFixed(0)} ms`;
  console.log(
    `one tenant asks for ${flood} watches (${misbehaving.answers}), lists in loops (${lists}) and writes 1 MB (${writes}): round trip of the others p50; p99 ${text(before)} before, ${text(meanwhile)} meanwhile; watches ${watches}, ${opened}; API server RSS ${rss.toFixed(0)} before, ${now.toFixed(0)} meanwhile, peak ${peak.toFixed(0)} MiB`,
  );
}

async function restartBackend({ controlPlane, fleet }: Scene): Promise<void> {
  await fleet.tell({});
  const killedAt = wallClock();
  await controlPlane.restartBackend();
  const readyAt = wallClock();
  await controlPlane.bind("after-the-backend");
  const { rss, peak } = memoryOf(controlPlane.backend.pid);
  console.log(
    `backend killed: ready after ${secondsText(readyAt - killedAt)}, a new tenant has its rights ${secondsText(wallClock() - readyAt)} later; RSS ${rss.toFixed(0)}, peak ${peak.toFixed(0)} MiB`,
  );
}

const stormSeconds = 60;

async function restartApiServer({ controlPlane, fleet, names }: Scene): Promise<void> {
  const { cluster } = controlPlane;
  await fleet.tell({});
  const before = memoryOf(cluster.apiServer.pid).rss;
  await cluster.kill("apiserver");
  const killedAt = wallClock();
  await fleet.tell({ edit: { names, size: 2 } });
  await cluster.restart("apiserver");
  const servesAt = wallClock();
  const lags = (await arrivals(controlPlane, names, 2)).map((at) => Math.max(0, at - servesAt));
  await sleep(Math.max(0, servesAt + stormSeconds * 1000 - wallClock()));
  const { wire, unready } = await fleet.tell({});
  const rate = rateOf(wire, wire.find((at) => at > killedAt + 200) ?? servesAt, stormSeconds);
  const { rss, peak } = memoryOf(cluster.apiServer.pid);
  console.log(
    `API server killed: ready after ${secondsText(servesAt - killedAt)}; edits upstream after that: ${[0.5, 0.9, 1].map((share) => secondsText(quantile(lags, share))).join(", ")} (half, nine tenths, all)`,
  );
  console.log(
    `in the first minute ${rate.total} requests of agents, most ${rate.mostInSecond} in a second; not Ready at its end: ${unready.length}; RSS ${before.toFixed(0)} before, ${rss.toFixed(0)} after, peak ${peak.toFixed(0)} MiB`,
  );
}

async function leaveAndComeBack({ controlPlane, fleet, names }: Scene): Promise<void> {
  const leaving = names.filter((_, index) => index % 10 === 0);
  const all = await openWatches(controlPlane);
  await fleet.tell({ leave: leaving });
  await sleep(3_000);
  const left = await openWatches(controlPlane);
  await fleet.tell({ edit: { names: leaving, size: 3 }, comeBack: leaving });
  const backAt = wallClock();
  const lags = (await arrivals(controlPlane, leaving, 3)).map((at) => at - backAt);
  await sleep(3_000);
  const again = await openWatches(controlPlane);
  console.log(
    `${leaving.length} agents gone and back: watches ${all}, ${left}, ${again}; their edits upstream after ${[0.5, 1].map((share) => secondsText(quantile(lags, share))).join(", ")} (half, all)`,
  );
}

/** Waits for the first claim of each of these app clusters. */
export function arrivals(
  { cluster: { client } }: FleetControlPlane,
  names: readonly string[],
  size: number,
): Promise<readonly number[]> {
  const namespaces = names.map((name) => serviceNamespaceName(name, workNamespace(0)));
  const limits = { timeoutMs: 600_000, intervalMs: 250 };
  return untilUpstream(client, { type: timedKind.type, name: firstClaim, namespaces, size }, limits);
}
