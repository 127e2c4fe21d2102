/**
 * The agent of one term of the lease, with all controllers and the sync engine below it. The process loads this file when its first term begins:
 * a standby does without (proof/bench/RESULTS.md, Memory).
 */
import { apiServiceBindingCrd, apiServiceBindings } from "@klutch/api";
import { type ClusterConfig, isForbidden, isNotFound, type KubeClient, type ListOptions } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import { Manager, type ManagerOptions } from "@klutch/kube-runtime";
import { servedVersions } from "@klutch/sync";
import { clusterUid } from "./cluster-uid.ts";
import type { ConsumerCluster, RuntimeDependencies } from "./clusters.ts";
import { AppClusterSecretReconciler } from "./controllers/app-cluster-secret/reconciler.ts";
import { ProviderSecretReconciler } from "./controllers/provider-secret/reconciler.ts";
import { asDynamic } from "./decode.ts";
import { KindTooNewError } from "./errors.ts";
import {
  addAgent,
  type Agent,
  type AgentPartOptions,
  type CreateAgentOptions,
  connectKonnector,
  type KonnectorConnectionOptions,
} from "./konnector.ts";

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
  addAgent(manager, { ...options, connection, load: async () => createAgent });
  await manager.start(options);
}

/** Creates the agent for one term of the lease. Throws `KindTooNewError` when the CRD of bindings is that of a newer release. */
export async function createAgent(options: CreateAgentOptions, signal: AbortSignal): Promise<Agent> {
  const { config, connection, pool, runtime } = options;
  const { client } = connection;
  const bindingType = await bindingResource(client, runtime, config, signal);
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
      ownBind: config.ownBind,
      allowedUpdates: config.updates,
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
 * The resource of the bindings. Its CRD is created when it is absent and installing is wanted; without the right to read it, bindings must be
 * served already. One of version 1.5 or older is cluster-scoped, which cannot be changed, and works as it is. Throws `KindTooNewError` for that
 * of a newer release, and the refusal when bindings cannot be listed either: an API server takes a moment to know new rights, so the agent tries again.
 */
async function bindingResource(
  client: KubeClient,
  { logger, clock }: RuntimeDependencies,
  { installCrd: install, controlPlane }: AgentPartOptions["config"],
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
    const options = { namespace: controlPlane?.rootNamespace, limit: 1, signal };
    if (!isForbidden(error) || !(await canList(client, apiServiceBindings, options))) throw error;
    logger.warn("not allowed to read the CustomResourceDefinition of bindings", { name, error });
    return apiServiceBindings;
  }
}

async function canList(client: KubeClient, type: ResourceType, options: ListOptions): Promise<boolean> {
  try {
    await client.list(type, options);
    return true;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return false;
    throw error;
  }
}
