/** Two real clusters with fsync, bound widget APIs, and an agent as its own process between them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apiServiceBindings,
  apiServiceExports,
  apiServiceNamespaces,
  bindCrds,
  type APIServiceBinding,
  clusterBindings,
  consumerNamespace,
  konnectorName,
  type PermissionClaim,
  serviceNamespaceName,
} from "@klutch/api";
import {
  customResourceDefinitions,
  findCondition,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { formatKubeconfig } from "@klutch/kube";
import { startClusters, TcpProxy, type TestCluster, waitFor } from "@klutch/kube-testing";
import { countApart, createAccount } from "./accounts.ts";
import { AgentProcess, type AgentSpec } from "./agent-process.ts";
import { BenchApi } from "./api.ts";
import { type CallSnapshot, snapshotCalls } from "./calls.ts";
import { startNamespaceResponder } from "./namespace-responder.ts";
import {
  clusterNamespace,
  createKubeconfigSecret,
  type ExportOptions,
  exportKind,
  prepareProvider,
} from "./provider-side.ts";
import { type WidgetKind, widgetKind } from "./widget.ts";

/** What a world is made with. */
export interface WorldOptions extends Partial<ExportOptions> {
  readonly agent: AgentSpec;
  /** Whether the agent is started and has bound the first kind when the world is given back. Default true. */
  readonly started?: boolean | undefined;
  /** How far the control plane is from the agent: milliseconds there and back. Default 0. */
  readonly wayMs?: number | undefined;
}

/** One of the two clusters. */
export interface Side {
  readonly cluster: TestCluster;
  readonly api: BenchApi;
  calls(): Promise<CallSnapshot>;
}

/** What a benchmark works with. */
export interface BenchWorld extends AsyncDisposable {
  readonly consumer: Side;
  readonly provider: Side;
  readonly agent: AgentProcess;
  /** Offers and binds another kind. */
  bind(kind: WidgetKind): Promise<void>;
  /** What to print when the agent does not get going. */
  readonly problem: () => Promise<string>;
}

/** Namespace of the app cluster in which the benchmarks make their widgets, and its mirror. */
export const workNamespace = "bench";

/** Namespace of the control plane that mirrors one of the app cluster. */
export function mirrorOf(namespace: string): string {
  return serviceNamespaceName(clusterNamespace, namespace);
}

/** Starts everything. */
export async function startBenchWorld(options: WorldOptions): Promise<BenchWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [consumer, provider] = await startClusters(2, { name: "bench", fsync: true });
  if (consumer === undefined || provider === undefined) throw new Error("two clusters were asked for");
  stack.use(provider);
  stack.use(consumer);
  const [consumerSide, providerSide] = [sideOf(consumer), sideOf(provider)];
  stack.use(consumerSide.api);
  stack.use(providerSide.api);
  await installBindCrds(consumer, provider);
  await createNamespaces(consumerSide.api, [consumerNamespace, workNamespace]);
  const { wayMs = 0 } = options;
  const distance = wayMs === 0 ? undefined : stack.use(await TcpProxy.start(provider.url));
  distance?.delay(wayMs / 2);
  const server = distance?.url ?? provider.url;
  const kubeconfig = await prepareProvider(provider.client, { ...provider.config, server });
  stack.use(await startNamespaceResponder(provider.client, providerSide.api));
  await createKubeconfigSecret(consumer.client, consumerNamespace, kubeconfig);
  const agent = stack.use(await prepareAgent(consumer, options.agent, folder));
  const bind = (kind: WidgetKind): Promise<void> => bindKind(consumer, provider, kind, options);
  const problem = async (): Promise<string> =>
    `${await bindingProblem(consumer).catch(String)}\n${agent.log()}`;
  const world = { consumer: consumerSide, provider: providerSide, agent, bind, problem };
  const first = widgetKind(0);
  await bind(first);
  if (options.started !== false) {
    await agent.start();
    await untilServed(world, first);
  }
  const owned = stack.move();
  return { ...world, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Makes namespaces. */
export async function createNamespaces(api: BenchApi, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await api.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}

/** Waits until the agent has made the kind's CRD in the app cluster and it is served. */
export async function untilServed(
  { consumer, agent, problem }: Pick<BenchWorld, "consumer" | "agent" | "problem">,
  { type }: WidgetKind,
): Promise<void> {
  const what = `${type.plural} to be served in the app cluster`;
  const { client } = consumer.cluster;
  try {
    await waitFor(what, async () => agent.hasEnded || (await client.list(type, { limit: 1 })) !== undefined, {
      timeoutMs: 60_000,
    });
  } catch (error) {
    throw new Error(`${String(error)}\n${await problem()}`, { cause: error });
  }
  if (agent.hasEnded) throw new Error(`the agent ended\n${await problem()}`);
}

function sideOf(cluster: TestCluster): Side {
  const api = new BenchApi(cluster.config);
  return { cluster, api, calls: () => snapshotCalls(cluster, api) };
}

async function installBindCrds(consumer: TestCluster, provider: TestCluster): Promise<void> {
  for (const crd of bindCrds) {
    await provider.client.create<KubeObject>(customResourceDefinitions, crd);
    if (crd.metadata.name.startsWith("apiservicebindings"))
      await consumer.client.create<KubeObject>(customResourceDefinitions, crd);
  }
  for (const type of [clusterBindings, apiServiceExports, apiServiceNamespaces]) {
    await untilListed(provider, type);
  }
  await untilListed(consumer, apiServiceBindings);
}

async function untilListed({ client }: TestCluster, type: ResourceType): Promise<void> {
  const isListed = async (): Promise<boolean> => (await client.list(type, { limit: 1 })) !== undefined;
  await waitFor(`${type.plural} to be served`, isListed, { timeoutMs: 60_000 });
}

async function prepareAgent(consumer: TestCluster, spec: AgentSpec, folder: string): Promise<AgentProcess> {
  const account = { namespace: consumerNamespace, name: konnectorName };
  const config = await createAccount(consumer.client, consumer.config, account);
  await countApart(consumer.client, account);
  const kubeconfig = join(folder, "consumer.kubeconfig");
  await writeFile(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  const env = { KUBECONFIG: kubeconfig, POD_NAMESPACE: consumerNamespace };
  return AgentProcess.prepare(spec, env, join(folder, "agent.log"));
}

async function bindKind(
  consumer: TestCluster,
  provider: TestCluster,
  kind: WidgetKind,
  options: WorldOptions,
): Promise<void> {
  const { informerScope = "Cluster", permissionClaims = [] } = options;
  await provider.client.create<KubeObject>(customResourceDefinitions, kind.crd);
  // An export of a kind that is not served yet would only make the agent wait for its own back-off.
  await untilListed(provider, kind.type);
  await exportKind(provider.client, kind, { informerScope, permissionClaims });
  const binding: APIServiceBinding = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: consumerNamespace, name: kind.crdName },
    spec: {
      kubeconfigSecretRef: { namespace: consumerNamespace, name: "kubeconfig", key: "kubeconfig" },
      permissionClaims: permissionClaims.map((claim) => ({ ...claim, state: "Accepted" as const })),
    },
  };
  await consumer.client.create(apiServiceBindings, binding);
}

/** A claim on a core resource whose objects the provider owns, as the shipped `servicebindings` template has two. */
export function providerOwned(resource: "secrets" | "configmaps"): PermissionClaim {
  return { group: "", resource, version: "v1", selector: { owner: "Provider" } };
}

async function bindingProblem(consumer: TestCluster): Promise<string> {
  const ref = { namespace: consumerNamespace, name: widgetKind(0).crdName };
  const { status } = await consumer.client.get<APIServiceBinding>(apiServiceBindings, ref);
  const ready = findCondition(status?.conditions, "Ready");
  return `binding: ${ready?.status} ${ready?.reason}: ${ready?.message} (cluster namespace ${clusterNamespace})`;
}
