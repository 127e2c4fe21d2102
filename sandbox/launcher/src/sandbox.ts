/** Starts everything in the order in which the parts need each other. */
import { join } from "node:path";
import { packageType, type Registry } from "@klutch/api";
import { engineNames, preparePostgres, resolveEngines } from "@klutch/engines";
import { untilAborted } from "@klutch/kube-runtime";
import { type CrossplanePackage, legacy, xrdsOf } from "@klutch/services";
import { ensureCertificates } from "./certificates.ts";
import { startClusters } from "./clusters.ts";
import type { SandboxConfig } from "./config.ts";
import { startCrossplane } from "./crossplane/install.ts";
import { installPackages, startRegistry } from "./crossplane/packages.ts";
import { runPackageRuntime } from "./crossplane/runtime.ts";
import { runDemo } from "./demo/demo.ts";
import { superviseKonnectors } from "./konnectors.ts";
import { waitForConditions } from "./objects.ts";
import { readMachineRoom, requireRoom } from "./preflight.ts";
import type { Progress } from "./progress.ts";
import { report } from "./report.ts";
import { offerApis, startBackend } from "./services/backend.ts";
import { brokerUser, startBroker } from "./services/broker.ts";
import { type DataServers, obtainDataServers } from "./services/data-servers.ts";
import { startDex } from "./services/dex.ts";
import { configureProvider, startFunction, startProvider } from "./services/packages.ts";
import { openState, postgresFolder, type SandboxState } from "./state.ts";
import { writeCliFiles, writeOwnCommands } from "./cli-files.ts";
import type { Clusters, SandboxBase, SandboxContext } from "./context.ts";
import { together } from "./together.ts";

/** Runs the sandbox until the signal aborts, or until the demo is over with `exit`. */
export async function runSandbox(
  config: SandboxConfig,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const state = await openState(config.folder, config.reset, stack);
  requireRoom(await readMachineRoom(state.folder), state.folder);
  const servers = await obtainServers(state, progress, signal);
  if (state.isKept) progress.say(`continuing with the state in ${state.folder} (--reset deletes it first)`);
  const certificates = await ensureCertificates(join(state.folder, "certificates"), new Date());
  const base: SandboxBase = { state, stack, progress, generations: config.generations };
  const started = progress.step("two app clusters and a control plane cluster", () => startClusters(base));
  const [clusters, registry, issuer, broker] = await together([
    started,
    startRegistry(base),
    startDex(base),
    startBroker(base, servers),
    startFunction(base, certificates),
  ]);
  const stop = new AbortController();
  const context: SandboxContext = { ...base, clusters, signal: AbortSignal.any([signal, stop.signal]) };
  await progress.step("Crossplane", () => startCrossplane(context, certificates));
  const tasks = [runPackageRuntime(context, certificates)];
  const [, backendUrl] = await together([
    progress.step("Configuration, Function and Provider from the local registry", () =>
      startPackages(context, registry, ["postgresql", ...Object.keys(servers)]),
    ),
    progress.step("backend", () => startBackend(context, issuer)),
  ]);
  await offerApis(clusters.controlPlane.client, base.generations);
  for (const cluster of [clusters.appA, clusters.appB]) tasks.push(superviseKonnectors(context, cluster));
  const cli = await writeCliFiles(context, join(state.folder, "bin"));
  await writeOwnCommands(state.folder, cli.bin);
  progress.say(`ready after ${progress.elapsed().toFixed(1)} s`);
  if (config.demo && !signal.aborted) await runDemo({ context, cli, backendUrl, broker });
  if (config.exit) {
    progress.say(`what it made is kept in ${state.folder}; npm run sandbox goes on from there`);
  } else {
    const urls = urlsOf(context.clusters);
    const next = "Ctrl-C ends every process; the next start takes up where this one ended.";
    console.log(report({ folder: state.folder, urls, cli, backendUrl, issuer, next }));
    await untilAborted(signal);
  }
  progress.say("stopping …");
  stop.abort(new Error("stopping"));
  await Promise.all(tasks);
}

function urlsOf({ controlPlane, appA, appB }: Clusters): Parameters<typeof report>[0]["urls"] {
  return { controlPlane: controlPlane.url, appA: appA.url, appB: appB.url };
}

/** The programs of all servers. Those of instances only as far as they can be had. */
function obtainServers(
  { folder, secrets }: SandboxState,
  progress: Progress,
  signal: AbortSignal,
): Promise<DataServers> {
  return progress.step(
    "servers, from the cache or obtained once (minutes, if they must be built)",
    async () => {
      await preparePostgres({ dataDir: postgresFolder(folder), password: secrets.postgresPassword });
      await resolveEngines(engineNames, { progress: (line) => progress.say(line), signal });
      return obtainDataServers(progress, signal);
    },
  );
}

const xrd = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  plural: "compositeresourcedefinitions",
  kind: "CompositeResourceDefinition",
  namespaced: false,
} as const;

async function startPackages(
  context: SandboxContext,
  registry: Registry,
  types: readonly string[],
): Promise<void> {
  const packages = await installPackages(context, registry);
  await Promise.all([startProvider(context), packagesHealthy(context, packages)]);
  const { state, generations } = context;
  await configureProvider(context.clusters.controlPlane.client, {
    url: `http://127.0.0.1:${state.ports.broker}`,
    username: brokerUser,
    password: state.secrets.brokerPassword,
    types,
    generations,
  });
}

async function packagesHealthy(
  context: SandboxContext,
  packages: readonly CrossplanePackage[],
): Promise<void> {
  const { client } = context.clusters.controlPlane;
  for (const { kind, name } of packages) {
    const type = packageType(kind, `${kind.toLowerCase()}s`);
    await waitForConditions(client, type, { name }, ["Installed", "Healthy"], 180_000);
    context.progress.say(`${kind} ${name} is Installed and Healthy`);
  }
  for (const generation of context.generations) {
    // A composite that is the claim is there at once; others are offered.
    const conditions = generation === legacy ? ["Established", "Offered"] : ["Established"];
    for (const { metadata } of xrdsOf(generation)) await waitForConditions(client, xrd, metadata, conditions);
  }
}
