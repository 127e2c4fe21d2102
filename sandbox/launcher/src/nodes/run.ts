/** The sandbox on real nodes: everything of Klutch, Crossplane and Dex in Pods, installed by the lines of docs/install.md. */
import { readdir, readFile } from "node:fs/promises";
import { resolveEngines } from "@klutch/engines";
import { type DynamicObject, pods } from "@klutch/kube-core";
import { untilAborted } from "@klutch/kube-runtime";
import { type NodeCluster, resolveClusterPrograms, whyUnfit } from "@klutch/nodes";
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
  for (const cluster of Object.values(sandbox.clusters)) {
    progress.say(`memory of ${cluster.name}:`);
    for (const line of await memoryTable(cluster)) progress.say(line);
  }
  if (!config.exit) {
    const next = "Ctrl-C ends every process, and nothing is kept.";
    const authorities = sandbox.person["AUTHORITIES"];
    const developer = await writeDeveloper(sandbox.clusters.appA, sandbox.folder);
    console.log(report({ ...sandbox, developer, hasDex: true, authorities, hasDatabase: config.demo, next }));
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

/**
 * Returns the lines of a table of the memory of a node's processes, as the kernel counts it (proc_pid_smaps_rollup: proportional set size): each Pod and each process of the node itself, the largest
 * first, and the sums.
 */
async function memoryTable({ client, node }: NodeCluster): Promise<readonly string[]> {
  const { items } = await client.list<DynamicObject>(pods);
  const names = new Map(items.map(({ metadata: of }) => [of.uid, `${of.namespace}/${of.name}`]));
  const processes = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const found = (await Promise.all(processes.map((id) => memoryOf(id, node.name)))).flat();
  const uses = Map.groupBy(found, ({ pod, program }) =>
    pod === undefined ? `    ${program}` : `Pod ${names.get(pod) ?? "a Pod that is gone"}`,
  );
  const sum = (of: readonly NodeProcess[]): number => of.reduce((total, { kib }) => total + kib, 0);
  const line = (kib: number, name: string): string => `${(kib / 1024).toFixed(0).padStart(6)} MiB  ${name}`;
  const rows = [...uses].map(([name, of]) => ({ name, kib: sum(of) }));
  return [
    ...rows.toSorted((one, other) => other.kib - one.kib).map(({ kib, name }) => line(kib, name)),
    line(sum(found.filter(({ pod }) => pod !== undefined)), "all Pods"),
    line(sum(found), "everything"),
  ];
}

interface NodeProcess {
  readonly program: string;
  /** UID of its Pod. */
  readonly pod: string | undefined;
  readonly kib: number;
}

/** Reads one process. Returns nothing if it is not of the node, or ended meanwhile. */
async function memoryOf(id: string, node: string): Promise<readonly NodeProcess[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/${id}/${file}`, "utf8").catch(() => "");
  const path = /:memory:(\S+)$/m.exec(await read("cgroup"))?.[1] ?? "";
  if (!path.includes(`/${node}/`)) return [];
  const kib = Number(/^Pss:\s+(\d+) kB$/m.exec(await read("smaps_rollup"))?.[1] ?? 0);
  return [{ program: (await read("comm")).trim(), pod: /\/pod([0-9a-f-]{36})\//.exec(path)?.[1], kib }];
}
