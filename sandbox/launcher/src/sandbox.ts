/** Starts everything in the order in which the parts need each other. */
import { join } from "node:path";
import {
  engineNames,
  type KubernetesVersion,
  preparePostgres,
  obtainOnDemandServices,
  resolveEngines,
} from "@klutch/engines";
import { untilAborted } from "@klutch/kube-runtime";
import { chosenKubernetes, type OwnCluster, startCluster } from "@klutch/kube-testing";
import { report, writeCliFiles, writeDeveloper, writeOwnCommands } from "./cli-files.ts";
import type { Config } from "./config.ts";
import type { SandboxBase, SandboxContext } from "./context.ts";
import { startCrossplane } from "./crossplane/install.ts";
import * as packages from "./crossplane/packages.ts";
import { ensureCertificates, runPackageRuntime } from "./crossplane/runtime.ts";
import { runDemo } from "./demo/demo.ts";
import { superviseKonnectors } from "./konnectors.ts";
import { readMachineRoom, requireRoom, together } from "./machine.ts";
import type { Progress } from "./progress.ts";
import { offerApis, startBackend } from "./services/backend.ts";
import { brokerUser, obtainDataServers, offeredTypes, startBroker } from "./services/broker.ts";
import { startDex } from "./services/dex.ts";
import { openState, postgresFolder, type State } from "./state.ts";
import { reportEnd } from "./supervise.ts";

/** Runs the sandbox until the signal aborts, or until the demo is over with `exit`. */
export async function runSandbox(config: Config, progress: Progress, signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const state = await openState(config.folder, config.reset, stack);
  const { folder } = state;
  requireRoom(await readMachineRoom(folder), folder);
  const servers = await obtainServers(state, config, progress, signal);
  if (state.isKept) progress.say(`continuing with the state in ${folder} (--reset deletes it first)`);
  const certificates = await ensureCertificates(join(folder, "certificates"), new Date());
  const base: SandboxBase = { state, stack, progress, generations: config.generations };
  const [clusters, registry, identityProvider, broker] = await together([
    progress.step("two app clusters and a control plane cluster", () => startClusters(base)),
    packages.startRegistry(base),
    config.issuer === undefined ? startDex(base) : Promise.resolve(config.issuer),
    startBroker(base, servers, config.services),
    packages.startFunction(base, certificates),
  ]);
  const stop = new AbortController();
  const context: SandboxContext = { ...base, clusters, signal: AbortSignal.any([signal, stop.signal]) };
  await progress.step("Crossplane", () => startCrossplane(context, certificates));
  const tasks = [runPackageRuntime(context, certificates)];
  const [, backendUrl] = await together([
    progress.step("Configuration, Function and Provider from the local registry", async () => {
      await packages.installPackages(context, registry);
      await Promise.all([packages.startProvider(context), packages.packagesHealthy(context, registry)]);
      const url = `http://127.0.0.1:${state.ports.broker}`;
      const login = { username: brokerUser, password: state.secrets.brokerPassword };
      const types = await offeredTypes(servers, config.services);
      await packages.configureProvider(clusters.controlPlane.client, url, login, types, base.generations);
    }),
    progress.step("backend", () => startBackend(context, identityProvider)),
  ]);
  await offerApis(clusters.controlPlane.client, base.generations);
  for (const cluster of [clusters.appA, clusters.appB]) tasks.push(superviseKonnectors(context, cluster));
  const cli = await writeCliFiles(folder, clusters, join(folder, "bin"));
  await writeOwnCommands(folder, cli.bin);
  const developer = await writeDeveloper(clusters.appA, folder);
  progress.say(`ready after ${progress.elapsed().toFixed(1)} s`);
  if (config.demo && !signal.aborted) await runDemo({ ...context, cli }, backendUrl, broker);
  if (config.exit) {
    progress.say(`what it made is kept in ${folder}; npm run sandbox goes on from there`);
  } else {
    const next = "Ctrl-C ends every process; the next start takes up where this one ended.";
    const consoleUrl = `${backendUrl}/console/`;
    const where = { folder, clusters, cli, developer, backendUrl, consoleUrl, ports: state.ports };
    const hasDex = config.issuer === undefined;
    console.log(report({ ...where, issuer: identityProvider.url, hasDex, hasDatabase: config.demo, next }));
    await untilAborted(signal);
  }
  progress.say("stopping …");
  stop.abort(new Error("stopping"));
  await Promise.all(tasks);
}

/** Obtains the programs of all servers; those of instances only if they are available, or asked for. */
function obtainServers(
  { folder, secrets }: State,
  { services }: Config,
  progress: Progress,
  signal: AbortSignal,
) {
  return progress.step(
    "servers, from the cache or obtained once (minutes, if they must be built)",
    async () => {
      await preparePostgres(postgresFolder(folder), secrets.postgresPassword);
      const options = { progress: (line: string) => progress.say(line), signal };
      await resolveEngines(engineNames, options);
      await obtainOnDemandServices(services, options);
      return obtainDataServers(progress, signal);
    },
  );
}

async function startClusters(base: SandboxBase): Promise<SandboxContext["clusters"]> {
  const { ports, folder } = base.state;
  const versions = chosenKubernetes();
  const start = async (name: string, port: number, kubernetes: KubernetesVersion): Promise<OwnCluster> => {
    const dataDir = join(folder, "clusters", name);
    // The control plane counts for limits of tenants.
    const controllerManager = name === "control-plane" ? "quotas" : true;
    const options = { name, controllerManager, fsync: true, dataDir, port, kubernetes } as const;
    const cluster = base.stack.use(await startCluster(options));
    for (const server of cluster.processes) reportEnd(base, server);
    return cluster;
  };
  const [controlPlane, appA, appB] = await Promise.all([
    start("control-plane", ports.controlPlaneApi, versions.controlPlane),
    start("app-a", ports.appAApi, versions.appCluster),
    start("app-b", ports.appBApi, versions.appCluster),
  ]);
  return { controlPlane, appA, appB };
}
