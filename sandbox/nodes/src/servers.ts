/** Starts the servers of a cluster in its namespaces. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startProcess } from "@klutch/engines";
import { type KubeClient, parseYaml } from "@klutch/kube";
import { listAt } from "@klutch/kube-core";
import { askEtcd, etcdArguments } from "@klutch/kube-testing";
import { buildImage, layoutArchive, plainLayerOf } from "@klutch/oci";
import { type Command, run } from "./command.ts";
import { configFolder, home, images } from "./facts.ts";
import type { Namespaces } from "./namespaces.ts";
import type { ClusterPlan } from "./prepare.ts";

/** Cluster whose servers are started. */
export interface ServerContext {
  readonly plan: ClusterPlan;
  readonly namespaces: Namespaces;
  readonly client: KubeClient;
}

/** Programs that ask the API server for work. */
const workers = ["kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"];

/** Starts etcd, then the API server; resolves when it answers as ready. */
export async function startApi(context: ServerContext): Promise<void> {
  const { plan, client } = context;
  const isHealthy = async (): Promise<boolean> => (await askEtcd(plan.folder, "/health")) !== "";
  await start(context, "etcd", etcdArguments(false), isHealthy);
  await start(context, "kube-apiserver", await argumentsOf(context, "kube-apiserver"), async () => {
    await client.request({ method: "GET", path: "/readyz" });
    return true;
  });
}

/** Starts containerd, and imports the images that a node has before it can pull any. */
export async function startRuntime(context: ServerContext): Promise<void> {
  const ctr = (args: readonly string[], input?: Uint8Array): Promise<string> =>
    runInside(context, { command: context.plan.programs.path("ctr"), args }, input);
  await start(context, "containerd", ["--config", `${home}/containerd.toml`], async () => {
    await ctr(["version"]);
    return true;
  });
  for (const name of images.names) {
    const base = `${images.repository}/${name}`;
    const args = ["--namespace", "k8s.io", "images", "import", "--base-name", base, "-"];
    await ctr(args, await systemImage(context.plan.programs.path(name), name));
  }
}

/** Starts what asks the API server for work: controllers, scheduler, kubelet and the proxy of Services. */
export async function startWorkers(context: ServerContext): Promise<void> {
  const nft = { command: context.plan.programs.path("nft"), args: ["-f", `${home}/masquerade.nft`] };
  await runInside(context, nft);
  await Promise.all(workers.map(async (name) => start(context, name, await argumentsOf(context, name))));
}

async function argumentsOf({ plan }: ServerContext, program: string): Promise<readonly string[]> {
  const text = await readFile(join(configFolder, "servers.yaml"), "utf8");
  return listAt(parseYaml(text.replaceAll("ADDRESS", plan.node.address)), program).map(String);
}

/** Returns the archive of an image with one static program, uncompressed because it stays on this machine. */
async function systemImage(program: string, name: string): Promise<Uint8Array> {
  const layer = plainLayerOf([{ path: name, content: await readFile(program), mode: 0o755 }]);
  const image = buildImage({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    layers: [layer],
    config: { Entrypoint: [`/${name}`], User: "65532:65532" },
  });
  return layoutArchive([{ name: images.tag, image }]);
}

function runInside({ plan, namespaces }: ServerContext, command: Command, input?: Uint8Array) {
  return run(namespaces.enter({ ...command, env: plan.programs.env }), input);
}

/** The end of the namespaces ends every server in them. */
async function start(
  { plan, namespaces }: ServerContext,
  program: string,
  args: readonly string[],
  ready?: () => Promise<boolean>,
): Promise<void> {
  await startProcess({
    ...namespaces.enter({ command: plan.programs.path(program), args }),
    name: `${plan.name} ${program}`,
    env: plan.programs.env,
    logFile: join(plan.folder, "logs", `${program}.log`),
    ready,
  });
}
