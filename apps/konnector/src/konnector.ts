/** The konnector as parts of a Manager: the connection with its lease, and the agent. */
import type { ClusterConfig } from "@klutch/kube";
import {
  CachePool,
  ClusterConnection,
  type ClusterConnectionOptions,
  type Manager,
  type Runtime,
} from "@klutch/kube-runtime";
import type { Digest } from "@klutch/sync";
import { defaultTiming, type RuntimeDependencies } from "./clusters.ts";
import type { KonnectorConfig } from "./config.ts";
import type { ClusterCaches } from "./digests.ts";
import type { Part } from "./lifecycle.ts";
import { konnectorMetrics } from "./counters.ts";

/** Options of the agent, besides the Manager's runtime. */
export interface AgentPartOptions {
  readonly config: Pick<KonnectorConfig, "installCrd" | "timing" | "controlPlane"> &
    Partial<Pick<KonnectorConfig, "ownBind" | "updates">>;
  /** To the cluster with the bindings: the app cluster, in control-plane mode the control plane. */
  readonly connection: ClusterConnection;
  /** Both objects of each pair are read each time, for comparison with the fast way. Default false. */
  readonly naiveStore?: boolean | undefined;
  /** Returns `createAgent` of `agent.ts`; called when a term of the lease begins. */
  readonly load: () => Promise<CreateAgent>;
}

/** The agent of one term. */
export interface Agent extends Part {
  /** Returns the problems that keep it from being ready. */
  problems(): readonly string[];
}

/** Creates the agent of one term. */
export type CreateAgent = (options: CreateAgentOptions, signal: AbortSignal) => Promise<Agent>;

/** Options of `createAgent`. */
export interface CreateAgentOptions {
  readonly config: AgentPartOptions["config"];
  readonly connection: ClusterConnection;
  readonly pool: ClusterCaches;
  readonly runtime: RuntimeDependencies;
}

/** The agent as a part of a process. */
export interface AgentPart {
  /** Reconciles of pairs so far. */
  readonly reconciles: () => number;
  /** Times that the agent was started so far: once in each term of the lease, and after a failure. */
  readonly starts: () => number;
}

/** Options of `connectKonnector`. */
export interface KonnectorConnectionOptions extends Runtime {
  readonly config: Pick<KonnectorConfig, "leaseName" | "leaseNamespace" | "identity" | "controlPlane">;
  readonly cluster: ClusterConfig;
  readonly createClient?: ClusterConnectionOptions["createClient"];
}

/** The cluster with the bindings, with the konnector's lease in it. */
export function connectKonnector(options: KonnectorConnectionOptions): ClusterConnection {
  const { config, cluster, ...rest } = options;
  return new ClusterConnection({
    ...rest,
    config: { ...cluster, name: config.controlPlane === undefined ? "consumer" : "binding" },
    userAgent: "konnector",
    lease: { namespace: config.leaseNamespace, name: config.leaseName, identity: config.identity },
  });
}

/** Adds the agent, which is created again for each term of the lease: state of one term is not trusted in the next. */
export function addAgent(manager: Manager, options: AgentPartOptions): AgentPart {
  const { config, connection } = options;
  const { logger, metrics, clock, random, tracer } = manager.runtime;
  const runtime: RuntimeDependencies = {
    logger,
    clock,
    random,
    tracer,
    metrics: konnectorMetrics(metrics),
    timing: { ...defaultTiming, ...config.timing },
    naiveStore: options.naiveStore,
  };
  const { client } = connection;
  const pool = manager.own(new CachePool<Digest>({ client, logger, clock, random }));
  let running: Agent | undefined;
  let starts = 0;
  manager.add({
    name: "agent",
    onFailure: "restart",
    problem: () => [...pool.problems(), ...(running?.problems() ?? [])].join(", ") || undefined,
    async start({ signal }) {
      starts++;
      const createAgent = await options.load();
      await using agent = await createAgent({ config, connection, pool, runtime }, signal);
      running = agent;
      try {
        await agent.start({ signal });
      } finally {
        running = undefined;
      }
    },
  });
  return { reconciles: () => runtime.metrics.reconcileCount.count, starts: () => starts };
}
