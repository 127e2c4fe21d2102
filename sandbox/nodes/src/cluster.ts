/** A real Kubernetes cluster of one node on this machine: servers, container runtime and Pods in namespaces of their own. */
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunningProcess } from "@klutch/engines";
import {
  type ClusterConfig,
  createKubeClient,
  formatKubeconfig,
  type KubeClient,
  systemClock,
} from "@klutch/kube";
import { conditionsOf, deployments, type DynamicObject, isTrue, type ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { requireFitness } from "./fitness.ts";
import type { NodeAddresses } from "./addresses.ts";
import { connect } from "./link.ts";
import { importArchive, importImage, type ImageSource } from "./import-image.ts";
import { clusterFiles } from "./layout.ts";
import { startNamespaces } from "./namespaces.ts";
import { type NodeNetwork, openNodeNetwork } from "./network.ts";
import { type ClusterPlan, prepare } from "./prepare.ts";
import { type ClusterPrograms, resolveClusterPrograms } from "./programs.ts";
import { type ServerContext, startApi, startContainerd, startWorkers } from "./servers.ts";
import { systemImageArchive, systemImages } from "./system-images.ts";
import { dnsDeployment, systemObjects } from "./system-objects.ts";

/** Options of `startNodeCluster`. */
export interface NodeClusterOptions {
  /** For messages. Default `cluster`. */
  readonly name?: string | undefined;
  /** Shared with other clusters, whose nodes then reach each other; not ended with this cluster. Default: one of its own. */
  readonly network?: NodeNetwork | undefined;
  /** Where images come from that name this host: URL by host. Default: none, so Pods run imported images only. */
  readonly registries?: Readonly<Record<string, string>> | undefined;
  /** Added to the API server's own. Default: none. */
  readonly apiServerArgs?: readonly string[] | undefined;
  /** Default: those in the cache, else they are obtained. */
  readonly programs?: ClusterPrograms | undefined;
}

/** A cluster that runs. Disposing ends everything of it, as does the end of this process. */
export interface NodeCluster extends AsyncDisposable {
  readonly name: string;
  /** Of the administrator (system:masters). */
  readonly config: ClusterConfig;
  /** The same as YAML text. */
  readonly kubeconfig: string;
  /** A client of the administrator. */
  readonly client: KubeClient;
  readonly network: NodeNetwork;
  /** The node's address, which this machine and other nodes of the network reach, and the name of what it has outside. */
  readonly node: NodeAddresses;
  /** With logs in `logs`, for our eyes only. Removed in the end. */
  readonly folder: string;
  readonly processes: readonly RunningProcess[];
  /** Resolves when the namespaces have ended. */
  readonly exited: Promise<number>;
  /** Puts images where Pods find them without pulling. */
  importImage(source: ImageSource): Promise<void>;
}

const nodes: ResourceType = { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false };
const nodeName = "node";
const manager = { fieldManager: "klutch-nodes", force: true } as const;

/** Starts a cluster; it has a Ready node and answers names. Throws `NodeError` and `EngineError`. */
export async function startNodeCluster(options: NodeClusterOptions): Promise<NodeCluster> {
  await using stack = new AsyncDisposableStack();
  const { name = "cluster", registries = {} } = options;
  await requireFitness(1);
  const programs = options.programs ?? (await resolveClusterPrograms());
  const network = options.network ?? stack.use(await openNodeNetwork());
  const node = network.addresses.node(network.nextNode());
  const folder = await mkdtemp(join(tmpdir(), "klutch-node-"));
  const { pause } = programs;
  const { env } = network;
  const place = { name: node.name, hostname: nodeName, temporaryFolder: folder };
  const namespaces = stack.use(await startNamespaces({ ...place, pause, env }));
  await connect(network, node, namespaces);
  const now = new Date(systemClock.now());
  const plan: ClusterPlan = { name, node, nodeName, files: clusterFiles(folder), programs, registries, now };
  const config = await prepare(plan);
  const client = createKubeClient(config, { userAgent: "klutch-admin", flowControl: false });
  stack.defer(() => client[Symbol.asyncDispose]());
  const context = { plan, namespaces, client, apiServerArgs: options.apiServerArgs ?? [] };
  const processes = await bringUp(context);
  const owned = stack.move();
  return {
    name,
    config,
    client,
    network,
    node,
    folder,
    processes,
    kubeconfig: formatKubeconfig(config),
    exited: namespaces.exited,
    importImage: (source) => importImage(context, source),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Starts clusters of these names on one network, at the same time: all of them or, when one fails, none. */
export async function startNodeClusters(
  names: readonly string[],
  options: NodeClusterOptions & { readonly network: NodeNetwork },
): Promise<readonly NodeCluster[]> {
  await requireFitness(names.length);
  const programs = options.programs ?? (await resolveClusterPrograms());
  const started = names.map((name) => startNodeCluster({ ...options, name, programs }));
  const results = await Promise.allSettled(started);
  const clusters = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failure = results.find((result) => result.status === "rejected");
  if (failure === undefined) return clusters;
  await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
  throw failure.reason;
}

/** What fails leaves nothing: the end of the namespaces ends every process in them. */
async function bringUp(context: ServerContext): Promise<readonly RunningProcess[]> {
  const [api, containerd] = await Promise.all([startApi(context), bringUpRuntime(context)]);
  for (const { type, object } of systemObjects) await context.client.apply(type, object, manager);
  const workers = await startWorkers(context);
  await waitFor(
    "the node to be Ready",
    async () => {
      const found = await context.client.find<DynamicObject>(nodes, { name: nodeName });
      return isTrue(conditionsOf(found), "Ready");
    },
    { timeoutMs: 120_000 },
  );
  await waitFor(
    "CoreDNS to be available",
    async () => {
      const found = await context.client.find<DynamicObject>(deployments, dnsDeployment);
      return isTrue(conditionsOf(found), "Available");
    },
    { timeoutMs: 120_000 },
  );
  return [...api, containerd, ...workers];
}

async function bringUpRuntime(context: ServerContext): Promise<RunningProcess> {
  const { files, programs } = context.plan;
  for (const folder of [files.containerd.root, files.kubelet.root, files.kubelet.podLogs])
    await mkdir(folder, { recursive: true });
  const containerd = await startContainerd(context);
  for (const name of ["pause", "coredns"] as const) {
    const archive = await systemImageArchive(name, programs, process.arch === "arm64" ? "arm64" : "amd64");
    await importArchive(context, systemImages[name], archive);
  }
  return containerd;
}
