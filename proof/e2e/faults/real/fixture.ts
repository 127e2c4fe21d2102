/** Two real clusters that keep what they acknowledge, with a bound API, wires with faults in front of them, and agents as processes. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiServiceBindingCrd, consumerNamespace, konnectorName } from "@klutch/api";
import { leases, namespaces } from "@klutch/kube-core";
import { createKubeClient, formatKubeconfig, type KubeClient } from "@klutch/kube";
import { reservePorts } from "@klutch/engines";
import {
  accountConfig,
  auditArguments,
  type FaultProxy,
  installKinds,
  leaseCluster,
  namespaceObject,
  type OwnCluster,
  startCluster,
  startFaultProxy,
  TcpProxy,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import {
  bindDatabases,
  databaseObject,
  databases,
  databasesName,
  type Neighbour,
  startBoundFixture,
  startNeighbour,
} from "../../security/bound-fixture.ts";
import { AgentRuns, AgentSlot } from "./agent-slot.ts";
import { auditRules } from "./audit.ts";
import { claimNamespaces, type ClusterName, neighbourClaim, type Plan } from "./plan.ts";

type Server = Parameters<OwnCluster["kill"]>[0];

/** One cluster and the ways to it. */
export interface Side extends AsyncDisposable {
  readonly cluster: OwnCluster;
  /** Straight to the API server, and impatient. */
  readonly client: KubeClient;
  /** Between the agents and the cluster. */
  readonly wire: TcpProxy;
  /** Behind the wire when the route is `http`. */
  readonly watchProxy: FaultProxy;
  readonly auditLog: string;
  /** Kills a server and starts it again after a while; both servers come back. Returns as soon as it is killed. */
  crash(server: Server, downMs: number): Promise<void>;
  /** Resolves when nothing is down any more. */
  untilUp(): Promise<void>;
}

/** Holds the clusters and agents that all seeds share. */
export interface Fixture extends AsyncDisposable {
  readonly sides: Readonly<Record<ClusterName, Side>>;
  readonly runs: AgentRuns;
  /** The agent that always runs, and an agent that comes and goes. */
  readonly agents: readonly [AgentSlot, AgentSlot];
  /** App cluster B at the same control plane, past all wires. */
  readonly neighbour: Neighbour;
  /** Chooses the way between agents and clusters. */
  route(plan: Plan): void;
}

const apiReadyMs = 20_000;

/** Starts everything; the API is bound and served, and the namespaces of claims are known upstream. The agents are stopped again. */
export async function startFixture(): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-faults-")));
  const logOf = (cluster: string): string => join(folder, `${cluster}-audit.log`);
  const fixture = stack.use(
    await startBoundFixture(async ({ name = "", controllerManager }) => {
      const apiServerArgs = await auditArguments(folder, logOf(name), auditRules);
      return startCluster({ name, controllerManager, fsync: true, apiServerArgs });
    }),
  );
  const runs = new AgentRuns();
  const consumer = stack.use(await startSide(fixture.appCluster, logOf("app-cluster"), runs));
  const provider = stack.use(await startSide(fixture.controlPlane, logOf("control-plane"), runs));
  // The plugin waits for this kind, which a konnector installs; the first one starts after the plugin, whose connections are of no agent.
  await installKinds(consumer.cluster.client, [apiServiceBindingCrd]);
  await bindDatabases(fixture, provider.wire.url);
  const agents = await startAgents(stack, consumer, folder, runs);
  await agents[0].start();
  await useNamespaces(consumer.client, provider.client).catch(async (error: unknown) => {
    throw new Error(`the agent does not get going:\n${await agents[0].lastWords(30)}`, { cause: error });
  });
  await agents[0].stop();
  const neighbour = stack.use(await startNeighbour(fixture, await leaseCluster(), neighbourClaim));
  // The backend has nothing left to do, and the objects that it made stay.
  await fixture.backend.stop();
  const sides = { consumer, provider };
  return Object.assign(stack.move(), {
    sides,
    runs,
    agents,
    neighbour,
    route(plan: Plan) {
      for (const name of ["consumer", "provider"] as const) {
        const { wire, watchProxy, cluster } = sides[name];
        wire.route(plan.route[name] === "http" ? watchProxy.config.server : cluster.config.server);
      }
    },
  });
}

/** Makes the namespaces of claims, and claims there until the provider has them; then they go again. */
async function useNamespaces(consumer: KubeClient, provider: KubeClient): Promise<void> {
  for (const name of claimNamespaces) await consumer.create(namespaces, namespaceObject(name));
  await untilServed(consumer, databasesName);
  for (const namespace of claimNamespaces)
    await consumer.create(databases, databaseObject(namespace, "first"));
  const count = async (client: KubeClient): Promise<number> => (await client.list(databases)).items.length;
  await waitFor("the first claims", async () => (await count(provider)) === claimNamespaces.length);
  for (const namespace of claimNamespaces) await consumer.delete(databases, { namespace, name: "first" });
  await waitFor("the first claims to be gone", async () => (await count(consumer)) === 0);
}

async function startSide(cluster: OwnCluster, auditLog: string, runs: AgentRuns): Promise<Side> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(
    createKubeClient(cluster.config, { userAgent: "faults", flowControl: false, requestTimeoutMs: 2_000 }),
  );
  const watchProxy = stack.use(await startFaultProxy(cluster));
  const wire = stack.use(
    await TcpProxy.start(cluster.url, { originOf: (clientPort, port) => runs.originOf(clientPort, port) }),
  );
  let up: Promise<void> = Promise.resolve();
  const isReady = async (): Promise<boolean> =>
    !cluster.apiServer.hasExited && (await client.request({ method: "GET", path: "/readyz" })) !== undefined;
  const comeBack = async (server: Server): Promise<void> => {
    await cluster.restart(server);
    // An API server may give up without its etcd; a kubelet would start it again.
    await waitFor("the API server", isReady, { timeoutMs: apiReadyMs }).catch(() =>
      cluster.restart("apiserver"),
    );
  };
  stack.defer(() => up.catch(() => undefined));
  return Object.assign(stack.move(), {
    cluster,
    client,
    wire,
    watchProxy,
    auditLog,
    async crash(server: Server, downMs: number) {
      await up;
      await cluster.kill(server);
      up = sleep(downMs).then(() => comeBack(server));
      // Callers that wait for `untilUp` get the error.
      up.catch(() => undefined);
    },
    untilUp: () => up,
  });
}

async function startAgents(
  stack: AsyncDisposableStack,
  { cluster, wire }: Side,
  folder: string,
  runs: AgentRuns,
): Promise<readonly [AgentSlot, AgentSlot]> {
  const account = { namespace: consumerNamespace, name: konnectorName };
  // The certificate is valid for 127.0.0.1 at any port.
  const config = { ...(await accountConfig(cluster, account)), server: wire.url };
  await writeFile(join(folder, "consumer.kubeconfig"), formatKubeconfig(config), { mode: 0o600 });
  const slot = async (identity: string): Promise<AgentSlot> =>
    stack.use(new AgentSlot(identity, folder, runs, await reservePorts(1)));
  return [await slot("agent-a"), await slot("agent-b")];
}

/** Lets the next agent lead at once. */
export async function freeLease({ sides }: Fixture): Promise<void> {
  const ref = { namespace: consumerNamespace, name: consumerNamespace };
  await sides.consumer.client.delete(leases, ref);
}
