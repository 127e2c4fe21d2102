/** The konnector as parts of a Manager: the connection with its lease, and the agent. */
import { apiServiceBindingCrd, apiServiceBindings } from "@klutch/api";
import { type ClusterConfig, isForbidden, type KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import {
  CachePool,
  ClusterConnection,
  type ClusterConnectionOptions,
  Manager,
  type ManagerOptions,
  type Runtime,
} from "@klutch/kube-runtime";
import { type Digest, servedVersions } from "@klutch/sync";
import { clusterUid } from "./cluster-uid.ts";
import { type ConsumerCluster, defaultTiming, type RuntimeDependencies } from "./clusters.ts";
import type { KonnectorConfig } from "./config.ts";
import { AppClusterSecretReconciler } from "./controllers/app-cluster-secret/reconciler.ts";
import { ProviderSecretReconciler } from "./controllers/provider-secret/reconciler.ts";
import { asDynamic } from "./decode.ts";
import type { ClusterCaches } from "./digests.ts";
import { KindTooNewError } from "./errors.ts";
import { konnectorMetrics } from "./counters.ts";

/** Options of the agent, besides the Manager's runtime. */
export interface AgentPartOptions {
  readonly config: Pick<KonnectorConfig, "installCrd" | "timing" | "controlPlane">;
  /** To the cluster with the bindings: the app cluster, in control-plane mode the control plane. */
  readonly connection: ClusterConnection;
  /** Both objects of each pair are read each time, for comparison with the fast way. Default false. */
  readonly naiveStore?: boolean | undefined;
}

/** The agent as a part of a process. */
export interface AgentPart {
  /** Reconciles of pairs so far. */
  readonly reconciles: () => number;
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
  const { logger, metrics, clock, random } = manager.runtime;
  const runtime: RuntimeDependencies = {
    logger,
    clock,
    random,
    metrics: konnectorMetrics(metrics),
    timing: { ...defaultTiming, ...config.timing },
    naiveStore: options.naiveStore,
  };
  const { client } = connection;
  const pool = manager.own(new CachePool<Digest>({ client, logger, clock, random }));
  let running: ProviderSecretReconciler | AppClusterSecretReconciler | undefined;
  manager.add({
    name: "agent",
    onFailure: "restart",
    problem: () => [...pool.problems(), ...(running?.problems() ?? [])].join(", ") || undefined,
    async start({ signal }) {
      const bindingType = await bindingResource(client, runtime, config.installCrd, signal);
      await using agent = await createAgent({ config, connection, pool, bindingType, runtime }, signal);
      running = agent;
      try {
        await agent.start({ signal });
      } finally {
        running = undefined;
      }
    },
  });
  return { reconciles: () => runtime.metrics.reconcileCount.count };
}

/** Options of `runAgent`. */
export interface AgentRunOptions
  extends Omit<KonnectorConnectionOptions, "config">,
    Pick<ManagerOptions, "probes" | "onListening"> {
  readonly config: KonnectorConnectionOptions["config"] & AgentPartOptions["config"];
  /** See `AgentPartOptions`. */
  readonly naiveStore?: boolean | undefined;
  /** Ends the agent; it gives its lease back. */
  readonly signal: AbortSignal;
}

/** The agent and its lease inside another program, such as a simulation. Runs until the signal aborts. */
export async function runAgent(options: AgentRunOptions): Promise<void> {
  const connection = connectKonnector(options);
  const manager = new Manager({ ...options, connection });
  addAgent(manager, { ...options, connection });
  await manager.start(options);
}

interface CreateAgentOptions {
  readonly config: AgentPartOptions["config"];
  readonly connection: ClusterConnection;
  readonly pool: ClusterCaches;
  readonly bindingType: ResourceType;
  readonly runtime: RuntimeDependencies;
}

async function createAgent(
  options: CreateAgentOptions,
  signal: AbortSignal,
): Promise<ProviderSecretReconciler | AppClusterSecretReconciler> {
  const { config, connection, pool, bindingType, runtime } = options;
  const { client } = connection;
  const create = (other: ClusterConfig): KubeClient => connection.clientFor(other);
  const { controlPlane } = config;
  if (controlPlane === undefined) {
    const uid = await clusterUid(client, runtime, signal);
    const consumer: ConsumerCluster = { side: "consumer", client, pool, uid };
    const bindingCluster = { side: "binding", client, pool, bindingType } as const;
    return new ProviderSecretReconciler({
      consumer,
      bindingCluster,
      createProviderClient: create,
      runtime,
    });
  }
  return new AppClusterSecretReconciler({
    mode: controlPlane,
    bindingCluster: { side: "binding", client, pool, bindingType, namespace: controlPlane.rootNamespace },
    providerConfig: connection.config,
    createProviderClient: create,
    createConsumerClient: create,
    runtime,
  });
}

/**
 * The resource of the bindings. Its CRD is created when it is absent and installing is wanted; without the right to, it must be there.
 * One of version 1.5 or older is cluster-scoped, which cannot be changed, and works as it is. Throws `KindTooNewError` for that of a newer release.
 */
async function bindingResource(
  client: KubeClient,
  { logger, clock }: RuntimeDependencies,
  install: boolean,
  signal: AbortSignal,
): Promise<ResourceType> {
  const { name } = apiServiceBindingCrd.metadata;
  try {
    let crd = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    if (crd === undefined && install) {
      crd = await client.create(customResourceDefinitions, asDynamic(apiServiceBindingCrd), { signal });
      logger.info("installed the CustomResourceDefinition of bindings", { name });
    }
    while (install && !isTrue(conditionsOf(crd), "Established")) {
      await clock.sleep(100, { signal });
      crd = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    }
    const served = crd === undefined ? undefined : servedVersions(crd);
    if (served?.has(apiServiceBindings.version) === false)
      throw new KindTooNewError(name, [...served], apiServiceBindings.version);
    const isClusterScoped = isRecord(crd?.spec) && crd.spec["scope"] === "Cluster";
    return { ...apiServiceBindings, namespaced: !isClusterScoped };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    logger.warn("not allowed to read the CustomResourceDefinition of bindings", { name, error });
    return apiServiceBindings;
  }
}
