/**
 * `npm run bench:storm`: the API server of a control plane is killed and comes back while many app clusters are bound to it. `--agents 50`,
 * `--claims 20` in each app cluster, `--down 1,60` seconds between its end and its start, one storm after the other.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { apiServiceExportRequests, serviceNamespaceName } from "@klutch/api";
import { type OwnCluster, wholeNumber, startCluster } from "@klutch/kube-testing";
import { describeLoad, runBenchmark } from "./harness/program.ts";
import { quantile, secondsText } from "./harness/statistics.ts";
import { untilUpstream } from "./harness/upstream-edits.ts";
import {
  type BoundFixture,
  databases,
  exportRequest,
  logIn,
  startBoundFixture,
  tenantKubeconfig,
} from "../e2e/security/bound-fixture.ts";
import { type AppClusterOptions, claimNamespace, editedClaim } from "./storm/app-cluster.ts";
import { type Agents, startAgents } from "./storm/processes.ts";
import { rateOf, wallClock } from "./harness/wire-log.ts";

const defaults = { agents: 50, claims: 20, down: "1,60" };
const processes = 5;
const stormSeconds = 60;

async function main(options: typeof defaults): Promise<void> {
  const { agents: count, claims } = options;
  const downs = options.down.split(",").map((text) => wholeNumber("down", text));
  await using fixture = await startBoundFixture(startCluster);
  const names = Array.from({ length: count }, (_, index) => `storm-${String(index).padStart(2, "0")}`);
  const clusters: AppClusterOptions[] = [];
  for (const [index, name] of names.entries())
    clusters.push({ name, index, claims, kubeconfig: await bind(fixture, name) });
  await using agents = await startAgents(clusters, fixture.controlPlane.url, processes);
  await arrivalsOf(fixture, names, 1);
  console.log(`${count} app clusters with ${claims} claims each are Ready; load ${describeLoad()}`);
  for (const [index, down] of downs.entries()) await storm({ fixture, agents, names }, down, index + 2);
}

/** Makes a tenant and offers the API to it; gives back its kubeconfig. */
async function bind(fixture: BoundFixture, name: string): Promise<string> {
  const { client } = fixture.controlPlane;
  await logIn(client, name);
  await client.create(apiServiceExportRequests, exportRequest(name));
  return tenantKubeconfig(fixture.controlPlane, name);
}

interface Scene {
  readonly fixture: BoundFixture<OwnCluster>;
  readonly agents: Agents;
  readonly names: readonly string[];
}

/** Kills the API server, edits a claim in each app cluster, starts it again, and prints what followed. */
async function storm({ fixture, agents, names }: Scene, downSeconds: number, size: number): Promise<void> {
  await agents.tell({});
  const killedAt = wallClock();
  await fixture.controlPlane.kill("apiserver");
  const early = await agents.tell({ edit: size });
  await sleep(downSeconds * 1000);
  await fixture.controlPlane.restart("apiserver");
  const servesAt = wallClock();
  const arrivals = await arrivalsOf(fixture, names, size);
  await sleep(Math.max(0, servesAt + stormSeconds * 1000 - wallClock()));
  const { wire: late, turns, restarts } = await agents.tell({});
  const wire = [...early.wire, ...late];
  // Its port answers some time before it calls itself ready.
  const firstAt = wire.find((at) => at > killedAt + 200) ?? servesAt;
  const rate = rateOf(wire, Math.min(firstAt, servesAt), stormSeconds);
  const unready = Object.values(turns).map((all) => all.filter(({ at }) => at > killedAt));
  const backAt = unready.flatMap((all) => (all.at(-1)?.isReady === true ? [all.at(-1)?.at ?? 0] : []));
  const lags = arrivals.map((at) => Math.max(0, at - servesAt));
  console.log(
    `── killed, started again after ${downSeconds} s, ready ${secondsText(servesAt - killedAt)} after the end`,
  );
  console.log(
    `in the first minute ${rate.total} requests, most ${rate.mostInSecond} in a second, ${rate.mostInTenth} in 100 ms`,
  );
  console.log(
    `edits of the outage upstream after it is ready: ${[0.5, 0.9, 1].map((share) => secondsText(quantile(lags, share))).join(", ")} (half, nine tenths, all)`,
  );
  const isOver = unready.every((all) => all.at(-1)?.isReady !== false);
  const last =
    backAt.length === 0
      ? "none was said to be not Ready"
      : `last Ready ${secondsText(Math.max(...backAt) - servesAt)} after`;
  console.log(
    `bindings not Ready meanwhile: ${backAt.length}, ${last}; all Ready at the end: ${isOver}; restarts of agents: ${restarts}`,
  );
}

/** Waits for the edited claim of each app cluster. */
function arrivalsOf(
  { controlPlane: { client } }: BoundFixture,
  names: readonly string[],
  size: number,
): Promise<readonly number[]> {
  const namespaces = names.map((name) => serviceNamespaceName(name, claimNamespace));
  const limits = { timeoutMs: 300_000, intervalMs: 100 };
  return untilUpstream(client, { type: databases, name: editedClaim, namespaces, size }, limits);
}

process.exitCode = await runBenchmark(defaults, main);
