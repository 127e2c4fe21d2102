/** Two real clusters with fsync, bound widget APIs, and an agent as its own process between them. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  bindCrds,
  claimMarksCondition,
  claimMarks,
  consumerNamespace,
  konnectorName,
  type PermissionClaim,
  serviceNamespaceName,
} from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  isTrue,
  type KubeObject,
  leases,
  namespaces,
  refOfObject,
} from "@klutch/kube-core";
import {
  applyPolicies,
  auditArguments,
  type AuditedWrite,
  installKinds,
  namespaceObject,
  readAudit,
  startCluster,
  TcpProxy,
  type TestCluster,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import {
  bindKind,
  clusterNamespace,
  countedKubeconfig,
  type ExportOptions,
  prepareTenant,
  startNamespaceResponder,
} from "./tenant.ts";
import { type AgentProcess, prepareAgent } from "./agent-process.ts";
import { BenchApi } from "./api.ts";
import { type CallSnapshot, snapshotCalls } from "./calls.ts";
import { type WidgetKind, widgetKind } from "./widget.ts";

export interface FixtureOptions extends ExportOptions {
  /** Command that starts the agent. */
  readonly agent: string;
  /** Starts the agent and binds the first kind before the fixture is returned. Default true. */
  readonly started?: boolean | undefined;
  /** Round-trip milliseconds between the agent and the control plane. Default 0. */
  readonly wayMs?: number | undefined;
  /** The app cluster marks new claims itself, once the agent allows it. Default false. */
  readonly marksAtAdmission?: boolean | undefined;
  /** Rules of an audit policy that both API servers follow. Default none: they keep no log. */
  readonly auditRules?: readonly object[] | undefined;
}

/** One of the two clusters. */
export interface Side {
  readonly cluster: TestCluster;
  readonly api: BenchApi;
  calls(): Promise<CallSnapshot>;
  /** Reads the audit log. Throws without `auditRules`. */
  writes(): Promise<readonly AuditedWrite[]>;
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

/** Relative to each cluster's `dataDir`. */
const auditLog = "audit.log";

/** Starts everything. */
export async function startBenchFixture(options: FixtureOptions): Promise<BenchFixture> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-bench-")));
  const { wayMs = 0, auditRules } = options;
  const apiServerArgs = auditRules && (await auditArguments(folder, auditLog, auditRules));
  const [consumer, provider] = await Promise.all([
    startCluster({ name: "consumer", fsync: true, apiServerArgs }),
    startCluster({ name: "provider", fsync: true, apiServerArgs }),
  ]);
  stack.use(provider);
  stack.use(consumer);
  const side = (cluster: TestCluster): Side => {
    const api = stack.use(new BenchApi(cluster.config));
    const writes = (): Promise<readonly AuditedWrite[]> => readAudit(join(cluster.dataDir, auditLog), 0);
    return { cluster, api, calls: () => snapshotCalls(cluster, api), writes };
  };
  const sides = { consumer: side(consumer), provider: side(provider) };
  await Promise.all([
    installKinds(provider.client, bindCrds),
    installKinds(consumer.client, [apiServiceBindingCrd]),
  ]);
  await createNamespaces(sides.consumer.api, [consumerNamespace, workNamespace]);
  const distance = wayMs === 0 ? undefined : stack.use(await TcpProxy.start(provider.url));
  distance?.delay(wayMs / 2);
  const config = { ...provider.config, server: distance?.url ?? provider.url };
  await prepareTenant({ client: provider.client, config }, consumer.client);
  stack.use(await startNamespaceResponder(provider.client, sides.provider.api));
  const kubeconfig = join(folder, "agent.kubeconfig");
  const account = { namespace: consumerNamespace, name: konnectorName };
  await writeFile(kubeconfig, await countedKubeconfig(consumer, account), { mode: 0o600 });
  const env = { KUBECONFIG: kubeconfig, POD_NAMESPACE: consumerNamespace };
  const agent = stack.use(await prepareAgent(options.agent, env, join(folder, "agent.log")));
  const bind = (kind: WidgetKind): Promise<void> => bindKind(provider.client, consumer.client, kind, options);
  const ref = { namespace: consumerNamespace, name: widgetKind(0).crdName };
  const problem = async (): Promise<string> => {
    const binding = await consumer.client.find<DynamicObject>(apiServiceBindings, ref).catch(String);
    return `binding: ${JSON.stringify(binding)}\n${agent.log()}`;
  };
  const fixture = { ...sides, agent, bind, problem };
  const first = widgetKind(0);
  await bind(first);
  if (options.started !== false) {
    await agent.start();
    await untilBound(fixture, first);
    if (options.marksAtAdmission === true) await markAtAdmission(consumer, first);
  }
  return Object.assign(stack.move(), fixture);
}

/** Makes namespaces. */
export async function createNamespaces(api: BenchApi, names: readonly string[]): Promise<void> {
  for (const name of names) await api.create(namespaces, namespaceObject(name));
}

/** The konnector allows it a minute after the CRD is served; the API server then sees the binding change. */
async function markAtAdmission({ client }: TestCluster, { crdName }: WidgetKind): Promise<void> {
  await applyPolicies(client, claimMarks.manifestsOf(crdName));
  const ref = { namespace: consumerNamespace, name: crdName };
  const isAllowed = async (): Promise<boolean> =>
    isTrue(conditionsOf(await client.get<DynamicObject>(apiServiceBindings, ref)), claimMarksCondition);
  await waitFor("claims to be marked at admission", isAllowed, { timeoutMs: 120_000 });
  await sleep(1_000);
}

/** Waits until the agent has made the kind's CRD in the app cluster and it is served. */
export async function untilBound(
  { consumer, problem }: Pick<BenchFixture, "consumer" | "problem">,
  { crdName }: WidgetKind,
): Promise<void> {
  await untilServed(consumer.cluster.client, crdName).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${await problem()}`, { cause: error });
  });
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
