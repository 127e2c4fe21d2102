/** Starts the servers of a cluster in its namespaces. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { askEtcd, etcdAddress, etcdArguments } from "@klutch/kube-testing";
import { buildImage, layoutArchive, plainLayerOf } from "@klutch/oci";
import { type Command, run } from "./command.ts";
import { apiPort, configFolder, home, nodeName, services, systemImages } from "./facts.ts";
import type { Namespaces } from "./namespaces.ts";
import type { ClusterPlan } from "./prepare.ts";

/** Cluster whose servers are started. */
export interface ServerContext {
  readonly plan: ClusterPlan;
  readonly namespaces: Namespaces;
  readonly client: KubeClient;
}

/** Returns the arguments of the API server of a node with this address. */
export function apiServerArguments(address: string): readonly string[] {
  return [
    `--etcd-servers=${etcdAddress}`,
    "--bind-address=0.0.0.0",
    `--secure-port=${apiPort}`,
    `--advertise-address=${address}`,
    `--service-cluster-ip-range=${services.range}`,
    `--tls-cert-file=${home}/pki/apiserver.crt`,
    `--tls-private-key-file=${home}/pki/apiserver.key`,
    `--client-ca-file=${home}/pki/ca.crt`,
    `--kubelet-client-certificate=${home}/pki/kubelet-client.crt`,
    `--kubelet-client-key=${home}/pki/kubelet-client.key`,
    `--kubelet-certificate-authority=${home}/pki/ca.crt`,
    "--kubelet-preferred-address-types=InternalIP",
    `--service-account-key-file=${home}/pki/service-account.key`,
    `--service-account-signing-key-file=${home}/pki/service-account.key`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
  ];
}

/** Programs that ask the API server for work, with their arguments. */
function workers(address: string): Readonly<Record<string, readonly string[]>> {
  return {
    "kube-controller-manager": [
      `--kubeconfig=${home}/kubeconfigs/controller-manager`,
      "--bind-address=127.0.0.1",
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      `--root-ca-file=${home}/pki/ca.crt`,
      `--service-account-private-key-file=${home}/pki/service-account.key`,
      "--allocate-node-cidrs=false",
    ],
    "kube-scheduler": [
      `--kubeconfig=${home}/kubeconfigs/scheduler`,
      "--bind-address=127.0.0.1",
      "--leader-elect=false",
    ],
    kubelet: [
      `--config=${home}/kubelet.yaml`,
      `--kubeconfig=${home}/kubeconfigs/kubelet`,
      `--root-dir=${home}/kubelet`,
      `--cert-dir=${home}/kubelet/pki`,
      `--node-ip=${address}`,
      `--hostname-override=${nodeName}`,
    ],
    "kube-proxy": [`--config=${home}/kube-proxy.yaml`],
  };
}

/** Starts etcd, then the API server; resolves when it answers as ready. */
export async function startApi(context: ServerContext): Promise<void> {
  const { plan, client } = context;
  const isHealthy = async (): Promise<boolean> => (await askEtcd(plan.folder, "/health")) !== "";
  await start(context, "etcd", etcdArguments(false), isHealthy);
  await start(context, "kube-apiserver", apiServerArguments(plan.node.address), async () => {
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
  for (const name of systemImages.names) {
    const base = `${systemImages.repository}/${name}`;
    const args = ["--namespace", "k8s.io", "images", "import", "--base-name", base, "-"];
    await ctr(args, await systemImage(context.plan.programs.path(name), name));
  }
}

/** Starts what asks the API server for work: controllers, scheduler, kubelet and the proxy of Services. */
export async function startWorkers(context: ServerContext): Promise<void> {
  const { node, programs } = context.plan;
  const rules = await readFile(join(configFolder, "masquerade.nft"));
  await runInside(context, { command: programs.path("nft"), args: ["-f", "-"] }, rules);
  const commands = Object.entries(workers(node.address));
  await Promise.all(commands.map(([name, args]) => start(context, name, args)));
}

/** Returns the archive of an image with one static program, uncompressed because it stays on this machine. */
async function systemImage(program: string, name: string): Promise<Uint8Array> {
  const layer = plainLayerOf([{ path: name, content: await readFile(program), mode: 0o755 }]);
  const image = buildImage({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    layers: [layer],
    config: { Entrypoint: [`/${name}`], User: "65532:65532" },
  });
  return layoutArchive([{ name: systemImages.tag, image }]);
}

function runInside(
  { plan, namespaces }: ServerContext,
  command: Command,
  input?: string | Uint8Array,
): Promise<string> {
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
