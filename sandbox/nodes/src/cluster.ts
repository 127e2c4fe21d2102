/** A real Kubernetes cluster of one node on this machine: servers, container runtime and Pods in namespaces of their own. */
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as kube from "@klutch/kube";
import * as core from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { configFolder, nodeName } from "./facts.ts";
import { startNamespaces } from "./namespaces.ts";
import { connect, type NodeAddresses, type NodeNetwork } from "./network.ts";
import { type ClusterPlan, prepare } from "./prepare.ts";
import { requireFitness, resolveClusterPrograms } from "./needs.ts";
import { startApi, startRuntime, startWorkers } from "./servers.ts";

/** Options of `startNodeCluster`. */
export interface NodeClusterOptions {
  /** Name of the cluster in messages. Default `cluster`. */
  readonly name?: string | undefined;
  /** Shared with other clusters, whose nodes then reach each other; not ended with this cluster. */
  readonly network: NodeNetwork;
  /** URLs from which images come that name this host. Default: none, so Pods run no image of others. */
  readonly registries?: Readonly<Record<string, string>> | undefined;
}

/** A running cluster. Disposing ends all of it, as does the end of this process. */
export interface NodeCluster extends AsyncDisposable {
  readonly name: string;
  /** Access of the administrator (system:masters). */
  readonly config: kube.ClusterConfig;
  /** The same as YAML text. */
  readonly kubeconfig: string;
  /** A client of the administrator. */
  readonly client: kube.KubeClient;
  /** The node's address, which this machine and other nodes of the network reach, and its name outside. */
  readonly node: NodeAddresses;
  /** Folder with logs in `logs`, readable for this user only. Removed in the end. */
  readonly folder: string;
}

const nodes = { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false };
const dns: core.ObjectRef = { namespace: "kube-system", name: "coredns" };

/** Starts a cluster; it has a Ready node and answers names. Throws `EngineError`. */
export async function startNodeCluster(options: NodeClusterOptions): Promise<NodeCluster> {
  await using stack = new AsyncDisposableStack();
  const { name = "cluster", network, registries = {} } = options;
  await requireFitness(1);
  const programs = await resolveClusterPrograms();
  const node = network.nextNode();
  const folder = await mkdtemp(join(tmpdir(), "klutch-node-"));
  const { env } = network;
  // A failed start leaves nothing: the end of the namespaces ends every process in them.
  const namespaces = stack.use(
    await startNamespaces({ name: node.name, folder, pause: programs.path("pause"), env }),
  );
  await connect(network, node, namespaces);
  const now = new Date(kube.systemClock.now());
  const plan: ClusterPlan = { name, node, folder, programs, registries, now };
  const config = await prepare(plan);
  const client = stack.use(kube.createKubeClient(config, { userAgent: "klutch-admin", flowControl: false }));
  const context = { plan, namespaces, client };
  await Promise.all([startApi(context), startRuntime(context)]);
  await applySystemObjects(client);
  await startWorkers(context);
  await untilTrue(client, nodes, { name: nodeName }, "Ready");
  await untilTrue(client, core.deployments, dns, "Available");
  const kubeconfig = kube.formatKubeconfig(config, name);
  return Object.assign(stack.move(), { name, config, kubeconfig, client, node, folder });
}

/** Starts clusters of these names on one network, at the same time: all of them or, when one fails, none. */
export async function startNodeClusters(
  names: readonly string[],
  options: Omit<NodeClusterOptions, "name">,
): Promise<readonly NodeCluster[]> {
  await requireFitness(names.length);
  const started = names.map((name) => startNodeCluster({ ...options, name }));
  const results = await Promise.allSettled(started);
  const clusters = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failure = results.find((result) => result.status === "rejected");
  if (failure === undefined) return clusters;
  await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
  throw failure.reason;
}

async function applySystemObjects(client: kube.KubeClient): Promise<void> {
  const text = await readFile(join(configFolder, "system-objects.yaml"), "utf8");
  for (const document of kube.parseYamlDocuments(text)) {
    const object = kube.decodeObject<core.DynamicObject>(document, "system-objects.yaml");
    const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
    const type = await kube.discoverResource(client, { group, version, kind: object.kind });
    if (type === undefined) throw new Error(`the API server does not serve ${object.kind}`);
    await client.apply(type, object, { fieldManager: "klutch-nodes", force: true });
  }
}

async function untilTrue(
  client: kube.KubeClient,
  type: core.ResourceType,
  ref: core.ObjectRef,
  condition: string,
): Promise<void> {
  await waitFor(
    `${type.kind} ${ref.name} to be ${condition}`,
    async () => core.isTrue(core.conditionsOf(await client.find<core.DynamicObject>(type, ref)), condition),
    { timeoutMs: 120_000 },
  );
}
