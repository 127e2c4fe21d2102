/** Two real clusters with fsync, bound widget APIs, and an agent as its own process between them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  bindCrds,
  type APIServiceBinding,
  consumerNamespace,
  konnectorName,
  type PermissionClaim,
  serviceNamespaceName,
} from "@klutch/api";
import { findCondition, type KubeObject, leases, namespaces, refOfObject } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { reservePorts } from "@klutch/engines";
import {
  installKinds,
  namespaceObject,
  startClusters,
  TcpProxy,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { countedKubeconfig } from "./accounts.ts";
import { AgentProcess, type AgentSpec } from "./agent-process.ts";
import { BenchApi } from "./api.ts";
import { type CallSnapshot, snapshotCalls } from "./calls.ts";
import {
  bindKind,
  clusterNamespace,
  type ExportOptions,
  prepareTenant,
  startNamespaceResponder,
} from "./tenant.ts";
import { type WidgetKind, widgetKind } from "./widget.ts";

export interface FixtureOptions extends ExportOptions {
  readonly agent: AgentSpec;
  /** Starts the agent and binds the first kind before the fixture is returned. Default true. */
  readonly started?: boolean | undefined;
  /** Round-trip milliseconds between the agent and the control plane. Default 0. */
  readonly wayMs?: number | undefined;
}

/** One of the two clusters. */
export interface Side {
  readonly cluster: TestCluster;
  readonly api: BenchApi;
  calls(): Promise<CallSnapshot>;
}

/** The clusters and the agent that a benchmark works with. */
export interface BenchFixture extends AsyncDisposable {
  readonly consumer: Side;
  readonly provider: Side;
  readonly agent: AgentProcess;
  /** Offers and binds another kind. */
  bind(kind: WidgetKind): Promise<void>;
  /** Returns the text to print when the agent does not get going. */
  readonly problem: () => Promise<string>;
}

/** Namespace of the app cluster in which the benchmarks make their widgets, and its mirror. */
export const workNamespace = "bench";

/** Namespace of the control plane that mirrors one of the app cluster. */
export function mirrorOf(namespace: string): string {
  return serviceNamespaceName(clusterNamespace, namespace);
}

/** Starts everything. */
export async function startBenchFixture(options: FixtureOptions): Promise<BenchFixture> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder("klutch-bench-")).path;
  const [consumer, provider] = await startClusters(2, { name: "bench", fsync: true });
  if (consumer === undefined || provider === undefined) throw new Error("two clusters were asked for");
  stack.use(provider);
  stack.use(consumer);
  const [consumerSide, providerSide] = [sideOf(consumer), sideOf(provider)];
  stack.use(consumerSide.api);
  stack.use(providerSide.api);
  await Promise.all([
    installKinds(provider.client, bindCrds),
    installKinds(consumer.client, [apiServiceBindingCrd]),
  ]);
  await createNamespaces(consumerSide.api, [consumerNamespace, workNamespace]);
  const { wayMs = 0 } = options;
  const distance = wayMs === 0 ? undefined : stack.use(await TcpProxy.start(provider.url));
  distance?.delay(wayMs / 2);
  const server = distance?.url ?? provider.url;
  await prepareTenant(provider.client, { ...provider.config, server }, consumer.client);
  stack.use(await startNamespaceResponder(provider.client, providerSide.api));
  const agent = stack.use(await prepareAgent(consumer, options.agent, folder));
  const bind = (kind: WidgetKind): Promise<void> => bindKind(provider.client, consumer.client, kind, options);
  const problem = async (): Promise<string> =>
    `${await bindingProblem(consumer.client).catch(String)}\n${agent.log()}`;
  const fixture = { consumer: consumerSide, provider: providerSide, agent, bind, problem };
  const first = widgetKind(0);
  await bind(first);
  if (options.started !== false) {
    await agent.start();
    await untilServed(fixture, first);
  }
  const owned = stack.move();
  return { ...fixture, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Makes a folder that is removed with all that is in it. */
export async function temporaryFolder(prefix: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Makes namespaces. */
export async function createNamespaces(api: BenchApi, names: readonly string[]): Promise<void> {
  for (const name of names) await api.create(namespaces, namespaceObject(name));
}

/** Waits until the agent has made the kind's CRD in the app cluster and it is served. */
export async function untilServed(
  { consumer, agent, problem }: Pick<BenchFixture, "consumer" | "agent" | "problem">,
  { type }: WidgetKind,
): Promise<void> {
  const { client } = consumer.cluster;
  const isServed = async (): Promise<boolean> =>
    agent.hasEnded || (await client.list(type, { limit: 1 })) !== undefined;
  try {
    await waitFor(`${type.plural} to be served in the app cluster`, isServed);
    if (agent.hasEnded) throw new Error("the agent ended");
  } catch (error) {
    throw new Error(`${String(error)}\n${await problem()}`, { cause: error });
  }
}

/** Deletes every lease that is not an API server's own, so that the next agent need not wait for the last one's to expire. */
export async function freeLeases({ consumer: { cluster } }: BenchFixture): Promise<void> {
  for await (const lease of cluster.client.listAll<KubeObject>(leases))
    if (lease.metadata.name?.startsWith("apiserver-") !== true)
      await cluster.client.delete(leases, refOfObject(lease));
}

/** A claim on a core resource whose objects the provider owns, as the shipped `servicebindings` template has two. */
export function providerOwned(resource: "secrets" | "configmaps"): PermissionClaim {
  return { group: "", resource, version: "v1", selector: { owner: "Provider" } };
}

function sideOf(cluster: TestCluster): Side {
  const api = new BenchApi(cluster.config);
  return { cluster, api, calls: () => snapshotCalls(cluster, api) };
}

async function prepareAgent(consumer: TestCluster, spec: AgentSpec, folder: string): Promise<AgentProcess> {
  const account = { namespace: consumerNamespace, name: konnectorName };
  const kubeconfig = await countedKubeconfig(consumer, account, folder);
  const env = { KUBECONFIG: kubeconfig, POD_NAMESPACE: consumerNamespace };
  return new AgentProcess(spec, env, join(folder, "agent.log"), await reservePorts(1));
}

async function bindingProblem(consumer: KubeClient): Promise<string> {
  const ref = { namespace: consumerNamespace, name: widgetKind(0).crdName };
  const { status } = await consumer.get<APIServiceBinding>(apiServiceBindings, ref);
  const ready = findCondition(status?.conditions, "Ready");
  return `binding: ${ready?.status} ${ready?.reason}: ${ready?.message} (cluster namespace ${clusterNamespace})`;
}
