/**
 * `npm run bench:fleet -- --clusters 10,30,100 --apis 10 --namespaces 5`: what app clusters cost their control plane. A real API server and
 * etcd with fsync, the real backend, and for each app cluster the real agent with its tenant's own credential; the app clusters themselves
 * are models, in `--processes` processes, and come `--together` at a time. `--steady` seconds are measured at each size. `--scope Cluster`
 * watches kinds in all namespaces at once. `--disturb` ends with a new schema for all, a tenant that asks for `--flood` watches, lists in
 * loops and writes objects of 1 MB, restarts of backend and API server, and a tenth of the agents gone and back. `--restore` then restores
 * the control plane from a backup. `--gateway` measures all sizes twice: at the API server, and then on fresh servers through the tenant
 * gateway, which is a process too.
 *
 * `--only connect` logs `--clusters` new app clusters in at the same moment, one size after the other and without agents: seconds until they
 * have their rights, and requests for each of them. `--tree <folder>` takes the backend of another checkout. `--only gateway` measures the
 * memory of a gateway with `--objects 1000,10000` claims of 2 KiB.
 *
 * `--real 1,3,10` takes real API servers as app clusters, each with its own konnector process, instead of models.
 */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { serviceNamespaceName } from "@klutch/api";
import { UsageError, waitFor, wholeNumber } from "@klutch/kube-testing";
import { describeLoginCalls, formatLogins, type LoginRecord, measureLogins } from "./fleet/connect.ts";
import { disturb } from "./fleet/disturbances.ts";
import { measureGatewayMemory } from "./fleet/gateway-memory.ts";
import {
  firstClaim,
  type FleetKind,
  fleetKinds,
  hasStatus,
  claimOf,
  probePrefix,
  timedKind,
} from "./fleet/kinds.ts";
import { type FleetClusterOptions, workNamespace } from "./fleet/app-cluster.ts";
import { type FleetControlPlane, type FleetScope, startControlPlane } from "./fleet/control-plane.ts";
import { steadyCost } from "./fleet/measure.ts";
import { type Fleet, startFleet } from "./fleet/processes.ts";
import { measureReal } from "./fleet/real.ts";
import { restoreControlPlane } from "./fleet/restored.ts";
import { formatGateway, formatLines, formatSizes, formatWatches, type SizeRecord } from "./fleet/report.ts";
import { inParallel } from "./harness/api.ts";
import { describeLoad, runBenchmark } from "./harness/program.ts";
import { type Percentiles, percentiles } from "./harness/statistics.ts";
import { startStopwatch, within } from "./harness/stopwatch.ts";

const defaults = {
  clusters: "10,30,100",
  apis: 10,
  namespaces: 5,
  processes: 4,
  together: 200,
  steady: 60,
  probes: 100,
  scope: "Namespaced",
  disturb: false,
  restore: false,
  flood: 10_000,
  gateway: false,
  objects: "1000,10000",
  json: "",
  only: "",
  tree: "",
  real: "",
};

async function main(options: typeof defaults): Promise<void> {
  const sizes = sizesOf("clusters", options.clusters);
  const real = options.real === "" ? [] : sizesOf("real", options.real);
  const scope = scopeOf(options.scope);
  const kinds = fleetKinds(options.apis);
  if (!["", "connect", "gateway"].includes(options.only))
    throw new UsageError(`--only must be connect or gateway, not "${options.only}"`);
  const checkout = options.tree === "" ? undefined : resolve(options.tree);
  if (options.only === "gateway") {
    const objects = sizesOf("objects", options.objects);
    return console.log(`\n${await measureGatewayMemory(objects)}\n`);
  }
  if (options.only === "connect") {
    await using controlPlane = await startControlPlane(kinds, scope, { checkout });
    return await measureAllLogins(controlPlane, kinds, sizes);
  }
  if (real.length > 0) {
    const { apis, namespaces, steady, probes } = options;
    await using controlPlane = await startControlPlane(kinds, scope, { checkout });
    return await measureReal(controlPlane, real, { apis, namespaces, steady, probes });
  }
  console.log(`${options.apis} APIs, ${options.namespaces} namespaces, scope ${scope}`);
  const all: SizeRecord[] = [];
  // Servers of their own: the memory of one that had more watches does not become less.
  for (const isGated of options.gateway ? [false, true] : [false]) {
    await using controlPlane = await startControlPlane(kinds, scope, { checkout, isGated });
    await measureSizes(controlPlane, { ...options, sizes }, async (record) => {
      all.push(record);
      if (options.gateway) console.log(`\n${formatGateway(all)}\n`);
      if (options.json !== "")
        await writeFile(options.json, `${JSON.stringify({ options, records: all }, null, 1)}\n`);
    });
  }
}

async function measureSizes(
  controlPlane: FleetControlPlane,
  options: typeof defaults & { readonly sizes: readonly number[] },
  onMeasured: (record: SizeRecord) => Promise<void>,
): Promise<void> {
  const { sizes, apis, namespaces, steady } = options;
  await using fleet = await startFleet(controlPlane.url, options.processes);
  const names: string[] = [];
  const records: SizeRecord[] = [];
  for (const size of sizes.toSorted((one, other) => one - other)) {
    const startedAt = performance.now();
    const fresh: FleetClusterOptions[] = [];
    const indices = Array.from({ length: Math.max(0, size - names.length) }, (_, at) => names.length + at);
    await inParallel(indices, async (index) => {
      const name = `fleet-${String(index).padStart(4, "0")}`;
      fresh.push({ name, index, apis, namespaces, kubeconfig: await controlPlane.bind(name) });
    });
    const boundAt = performance.now();
    names.push(...fresh.map(({ name }) => name).toSorted());
    for (let at = 0; at < fresh.length; at += options.together)
      await fleet.start(fresh.slice(at, at + options.together));
    await untilUpstream(controlPlane, names, namespaces);
    const connectedAt = performance.now();
    console.log(
      `${size} app clusters: logins ${((boundAt - startedAt) / 1000).toFixed(1)} s, agents ${((connectedAt - boundAt) / 1000).toFixed(1)} s; load ${describeLoad()}`,
    );
    const cost = await steadyCost(controlPlane, fleet, { clusters: size, seconds: steady });
    const floor = await measureFloor(controlPlane, options.probes);
    const roundTrip = await measureRoundTrip(fleet, names, options.probes);
    const record: SizeRecord = {
      cost,
      isGated: controlPlane.gateway !== undefined,
      loginSeconds: (boundAt - startedAt) / 1000,
      connectSeconds: (connectedAt - boundAt) / 1000,
      came: fresh.length,
      roundTrip,
      floor,
    };
    records.push(record);
    console.log(`\n${formatSizes(records)}\n`);
    await onMeasured(record);
  }
  const costs = records.map(({ cost }) => cost);
  const [smallest, largest] = [costs.at(0), costs.at(-1)];
  if (smallest !== undefined && largest !== undefined && smallest !== largest)
    console.log(
      `${formatLines(costs)}\n\nwatches of each app cluster: ${formatWatches([smallest, largest])}\n`,
    );
  const { flood, probes } = options;
  const roundTrip = (): Promise<Percentiles> =>
    measureRoundTrip(fleet, names, Math.min(probes, mostBesideFlood));
  const scene = { controlPlane, fleet, names, roundTrip, flood };
  if (options.disturb) await disturb(scene);
  if (options.restore) await restoreControlPlane(scene);
  const { restarts } = await fleet.tell({});
  console.log(`agents, or parts of them, that ended by themselves: ${restarts}`);
}

/** Beside a tenant that floods the API server, a claim may take seconds. */
const mostBesideFlood = 20;

function sizesOf(option: string, text: string): readonly number[] {
  return text.split(",").map((size) => wholeNumber(option, size));
}

/** The first login is not measured: the code of a server that just started is not compiled yet. */
async function measureAllLogins(
  controlPlane: FleetControlPlane,
  kinds: readonly FleetKind[],
  sizes: readonly number[],
): Promise<void> {
  await measureLogins(controlPlane, kinds, { prefix: "warm", count: 1 });
  const records: LoginRecord[] = [];
  for (const [index, count] of sizes.entries()) {
    const record = await measureLogins(controlPlane, kinds, { prefix: `login-${index}`, count });
    records.push(record);
    console.log(`${count} logins, calls of all accounts for each: ${describeLoginCalls(record)}`);
  }
  console.log(`\n${formatLogins(records)}\n`);
}

function scopeOf(text: string): FleetScope {
  if (text === "Namespaced" || text === "Cluster") return text;
  throw new UsageError(`--scope must be Namespaced or Cluster, not "${text}"`);
}

/** Waits until the claim of each namespace of each app cluster is in the control plane. */
async function untilUpstream(
  { cluster: { client } }: FleetControlPlane,
  names: readonly string[],
  namespaces: number,
): Promise<void> {
  const places = names.flatMap((name) =>
    Array.from({ length: namespaces }, (_, index) => serviceNamespaceName(name, workNamespace(index))),
  );
  const options = { fieldSelector: `metadata.name=${firstClaim}` };
  await waitFor(
    "the first claims to arrive",
    async () => {
      const { items } = await client.list(timedKind.type, options);
      const there = new Set(items.map(({ metadata }) => metadata.namespace));
      return places.every((place) => there.has(place));
    },
    { timeoutMs: 1_800_000, intervalMs: 1_000 },
  );
}

/** Times claims one at a time, spread over the app clusters. */
async function measureRoundTrip(fleet: Fleet, names: readonly string[], count: number): Promise<Percentiles> {
  const chosen = names.filter((_, index) => index % Math.ceil(names.length / 10) === 0);
  const times: number[] = [];
  for (const name of chosen) times.push(...(await fleet.probe(name, Math.ceil(count / chosen.length))));
  return percentiles(times);
}

/** Times as much of it as there is without an agent: the claim is written to the control plane, and a watch shows the status there. */
async function measureFloor({ cluster }: FleetControlPlane, count: number): Promise<Percentiles> {
  await using upstream = await startStopwatch(cluster.client, timedKind.type);
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const ref = { namespace: "default", name: `${probePrefix}floor-${number}` };
    const seen = upstream.seen(`${ref.namespace}/${ref.name}`, hasStatus);
    const startedAt = performance.now();
    await cluster.client.create(timedKind.type, claimOf(timedKind, ref.namespace, ref.name));
    times.push((await within(seen, 60_000, "a bare write's status", async () => "")) - startedAt);
    await cluster.client.delete(timedKind.type, ref);
  }
  return percentiles(times);
}

process.exitCode = await runBenchmark(defaults, main);
