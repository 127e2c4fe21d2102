/** The sandbox on real nodes: everything of Klutch, Crossplane and Dex in Pods, installed by the lines of docs/install.md. */
import { resolveEngines } from "@klutch/engines";
import { untilAborted } from "@klutch/kube-runtime";
import { resolveClusterPrograms, whyUnfit } from "@klutch/nodes";
import { legacy } from "@klutch/services";
import type { Config } from "../config.ts";
import { runDemo } from "../demo/demo.ts";
import type { Progress } from "../progress.ts";
import { report, writeDeveloper } from "../cli-files.ts";
import { offerApis } from "../services/backend.ts";
import { obtainDataServers } from "../services/broker.ts";
import { configureProvider } from "../crossplane/packages.ts";
import { followInstallPage, giveBack, useFirstDatabase } from "./install.ts";
import { broker, clusterCount, type NodeSandbox, startNodeSandbox } from "./node-sandbox.ts";

const engines = ["kubectl", "helm", "crane", "crossplane", "dex"] as const;

/**
 * Runs it until the signal aborts, or until the demo is over with `exit`. Nothing is kept. Throws, before anything starts, with all that
 * this machine lacks.
 */
export async function runOnNodes(config: Config, progress: Progress, signal: AbortSignal): Promise<void> {
  const refusal = await whyUnfit(clusterCount);
  if (refusal !== undefined) throw new Error(refusal);
  await progress.step(
    "programs, from the cache or obtained once (minutes, if they must be built)",
    async () => {
      const options = { progress: (line: string) => progress.say(line), signal };
      await resolveEngines(engines, options);
      await resolveClusterPrograms(options);
    },
  );
  await using sandbox = await startNodeSandbox(progress, new Date());
  const begun = progress.elapsed();
  await followInstallPage(sandbox, progress);
  const tookSeconds = (progress.elapsed() - begun).toFixed(0);
  progress.say(`from empty clusters to the first claim that is Ready: ${tookSeconds} s`);
  const said = await progress.step("an application in a Pod of app cluster A", () =>
    useFirstDatabase(sandbox),
  );
  progress.say(`its database says: ${said}`);
  await progress.step("give the first database back", () => giveBack(sandbox));
  if (config.demo && !signal.aborted) await demonstrate(sandbox, progress, signal);
  if (!config.exit) {
    const next = "Ctrl-C ends every process, and nothing is kept.";
    const authorities = sandbox.person["AUTHORITIES"];
    const developer = await writeDeveloper(sandbox.clusters.appA, sandbox.folder);
    console.log(report({ ...sandbox, developer, authorities, hasDatabase: config.demo, next }));
    await untilAborted(signal);
  }
  progress.say("stopping …");
}

/** The page offers as little as it needs; the demo wants all services, and backups. */
async function demonstrate(sandbox: NodeSandbox, progress: Progress, signal: AbortSignal): Promise<void> {
  const { clusters, cli, folder, backendUrl, person, secrets } = sandbox;
  const { client } = clusters.controlPlane;
  const servers = await obtainDataServers(progress, signal);
  await offerApis(client, [legacy]);
  const login = { username: broker.user, password: secrets.brokerPassword };
  await configureProvider(client, broker.url, login, ["postgresql", ...Object.keys(servers)], [legacy]);
  const offered = { postgresUrl: undefined, hasBackups: true, servers };
  const env = { NODE_EXTRA_CA_CERTS: person["AUTHORITIES"] ?? "" };
  await runDemo({ state: { folder }, progress, clusters, cli }, backendUrl, offered, env);
}
