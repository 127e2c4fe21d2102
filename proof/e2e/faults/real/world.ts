/** Two real clusters that keep what they acknowledge, wires with faults in front of them, and agents as processes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { consumerNamespace, konnectorName } from "@klutch/api";
import { leases } from "@klutch/kube-core";
import {
  ApiError,
  type ClusterConfig,
  createKubeClient,
  formatKubeconfig,
  type KubeClient,
  serviceAccountToken,
  TransportError,
} from "@klutch/kube";
import {
  type FaultProxy,
  startCluster,
  startFaultProxy,
  TcpProxy,
  type OwnCluster,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import { AgentRuns, AgentSlot } from "./agent-slot.ts";
import { auditArguments } from "./audit.ts";
import type { ClusterName, Plan } from "./plan.ts";
import {
  answerNamespaces,
  setUpConsumer,
  setUpProvider,
  servedWithin,
  widgetsName,
} from "./provider-setup.ts";

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

/** What the seeds share. */
export interface World extends AsyncDisposable {
  readonly sides: Readonly<Record<ClusterName, Side>>;
  readonly runs: AgentRuns;
  /** The one that always runs, and one that comes and goes. */
  readonly agents: readonly [AgentSlot, AgentSlot];
  readonly folder: string;
  /** Chooses the way between agents and clusters. */
  route(plan: Plan): void;
}

const apiReadyMs = 20_000;

/** Starts everything; the API is bound and served. The agents are stopped again. */
export async function startWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-faults-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const runs = new AgentRuns();
  const started = await Promise.allSettled(
    (["consumer", "provider"] as const).map((name) => startSide(name, folder, runs)),
  );
  for (const side of started) if (side.status === "fulfilled") stack.use(side.value);
  const [consumer, provider] = started.map((side) => {
    if (side.status === "rejected") throw side.reason;
    return side.value;
  });
  if (consumer === undefined || provider === undefined) throw new Error("two clusters were asked for");
  const kubeconfig = await setUpProvider(provider.cluster.client, behind(provider));
  await setUpConsumer(consumer.cluster.client, kubeconfig);
  const agents = await startAgents(stack, consumer, folder, runs);
  stack.use(answering(provider.client));
  await agents[0].start();
  await untilServed(consumer.client, widgetsName, servedWithin).catch((error: unknown) => {
    throw new Error(`the agent does not get going:\n${agents[0].log(30)}`, { cause: error });
  });
  await agents[0].stop();
  const owned = stack.move();
  return {
    sides: { consumer, provider },
    runs,
    agents,
    folder,
    route(plan) {
      for (const [name, side] of [
        ["consumer", consumer],
        ["provider", provider],
      ] as const) {
        const config = plan.route[name] === "http" ? side.watchProxy.config : side.cluster.config;
        side.wire.route(config.server);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The cluster as the agents reach it. The certificate is of 127.0.0.1, whatever the port. */
const behind = ({ cluster, wire }: Side): ClusterConfig => ({
  ...cluster.config,
  server: wire.url,
});

async function startSide(name: ClusterName, folder: string, runs: AgentRuns): Promise<Side> {
  await using stack = new AsyncDisposableStack();
  const auditLog = join(folder, `${name}-audit.log`);
  const cluster = stack.use(
    await startCluster({ name, fsync: true, apiServerArgs: await auditArguments(folder, auditLog) }),
  );
  const client = stack.use(
    createKubeClient(cluster.config, {
      userAgent: "faults",
      flowControl: false,
      requestTimeoutMs: 2_000,
    }),
  );
  const watchProxy = stack.use(await startFaultProxy(cluster));
  const wire = stack.use(
    await TcpProxy.start(cluster.url, { originOf: (clientPort, port) => runs.originOf(clientPort, port) }),
  );
  let up: Promise<void> = Promise.resolve();
  const owned = stack.move();
  return {
    cluster,
    client,
    wire,
    watchProxy,
    auditLog,
    async crash(server, downMs) {
      await up;
      await cluster.kill(server);
      up = comeBack(cluster, client, server, downMs);
      // Whoever waits for it hears of a failure.
      up.catch(() => undefined);
    },
    untilUp: () => up,
    async [Symbol.asyncDispose]() {
      await up.catch(() => undefined);
      await owned.disposeAsync();
    },
  };
}

async function comeBack(
  cluster: OwnCluster,
  client: KubeClient,
  server: Server,
  downMs: number,
): Promise<void> {
  await sleep(downMs);
  await cluster.restart(server);
  const isReady = async (): Promise<boolean> =>
    !cluster.apiServer.hasExited && (await client.request({ method: "GET", path: "/readyz" })) !== undefined;
  try {
    await waitFor("the API server", isReady, { timeoutMs: apiReadyMs });
  } catch {
    // An API server may give up without its etcd; a kubelet would start it again.
    await cluster.restart("apiserver");
  }
}

async function startAgents(
  stack: AsyncDisposableStack,
  consumer: Side,
  folder: string,
  runs: AgentRuns,
): Promise<readonly [AgentSlot, AgentSlot]> {
  const account = { namespace: consumerNamespace, name: konnectorName };
  const { token } = await serviceAccountToken(consumer.cluster.client, account, {
    expirationSeconds: 24 * 3600,
  });
  const kubeconfig = join(folder, "consumer.kubeconfig");
  const config: ClusterConfig = { ...behind(consumer), auth: { kind: "token", token } };
  await writeFile(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  const prepare = async (identity: string): Promise<AgentSlot> => {
    const logFile = join(folder, `${identity}.log`);
    return stack.use(await AgentSlot.prepare({ identity, kubeconfig, logFile, runs }));
  };
  return [await prepare("agent-a"), await prepare("agent-b")];
}

/** The backend's controller for namespaces; it reconciles again and again, so that no fault stops it. */
function answering(client: KubeClient): AsyncDisposable {
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await answerNamespaces(client);
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof TransportError)) throw error;
      }
      await sleep(250, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** Lets the next agent lead at once. */
export async function freeLease({ sides }: World): Promise<void> {
  const ref = { namespace: consumerNamespace, name: consumerNamespace };
  await sides.consumer.client.delete(leases, ref);
}
