/** The konnector as a function: clients, lease, probes, agent; in order up, in reverse order down. */
import { apiServiceBindingCrd, apiServiceBindings } from "@klutch/api";
import {
  type Clock,
  type ClusterConfig,
  createKubeClient,
  isForbidden,
  type KubeClient,
  type Random,
  systemClock,
  systemRandom,
} from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import { Backoff, CachePool, LeaderElector, leading, startProbes } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { clusterUid } from "./cluster-uid.ts";
import { type ConsumerCluster, defaultTiming, type Environment, type Timing } from "./clusters.ts";
import type { KonnectorConfig } from "./config.ts";
import { Agent } from "./controllers/provider-secret/agent.ts";
import { ControlPlaneAgent } from "./controllers/provider-secret/control-plane-agent.ts";
import { asDynamic } from "./decode.ts";
import { type ClusterCaches, consumerDigests } from "./digests.ts";
import { konnectorMetrics } from "./metrics.ts";
import { collectGarbage, tidyWhenQuiet } from "./tidy.ts";

/** What `runAgent` needs: everything of a konnector but its probes. */
export interface AgentRunOptions {
  readonly config: Pick<
    KonnectorConfig,
    | "leaseName"
    | "leaseNamespace"
    | "identity"
    | "installCrd"
    | "massDeletionLimit"
    | "providerObjectsLimit"
    | "controlPlane"
  >;
  /** The cluster with the bindings: the app cluster, in control-plane mode the control plane. */
  readonly cluster: ClusterConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Ends the konnector; it gives its lease back. */
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly timing?: Partial<Timing> | undefined;
  /** Makes the clients; for tests that count requests or inject faults. Default `createKubeClient`. */
  readonly createClient?: typeof createKubeClient | undefined;
  /** Called as soon as the agent can be asked how it is. */
  readonly onHealth?: ((health: AgentHealth) => void) | undefined;
}

/** How a running agent is. */
export interface AgentHealth {
  isLeader(): boolean;
  /** What keeps it from being current; empty when all is well. */
  problems(): readonly string[];
  /** How many pairs it has looked at. */
  looks(): number;
}

/** What `runKonnector` needs. */
export interface KonnectorOptions extends Omit<AgentRunOptions, "config" | "onHealth"> {
  readonly config: KonnectorConfig;
  /** Called when the probes listen. */
  readonly onListening?: ((port: number) => void) | undefined;
}

const userAgent = "konnector";

/** Runs until the signal aborts. Throws when the process cannot work at all: port taken, no access to its cluster. */
export async function runKonnector(options: KonnectorOptions): Promise<void> {
  const { config, metrics, onListening } = options;
  let health: AgentHealth = { isLeader: () => false, problems: () => ["starting"], looks: () => 0 };
  metrics.observedGauge("klutch_leader", "Whether this process holds the lease", () =>
    health.isLeader() ? 1 : 0,
  );
  await using probes = await startProbes({
    host: config.probeHost,
    port: config.probePort,
    // A process that waits for the lease is well; one that lost it does not write, so it is well, too.
    healthChecks: { leaderElection: () => undefined },
    readyChecks: { caches: () => health.problems().join(", ") || undefined },
    metrics,
  });
  onListening?.(probes.port);
  const tidy = {
    clock: options.clock ?? systemClock,
    looks: () => health.looks(),
    collect: collectGarbage,
  };
  const tidying = tidyWhenQuiet(tidy, options.signal);
  await runAgent({ ...options, onHealth: (started) => (health = started) });
  await tidying;
}

/** The agent and its lease, without anything that listens. Runs until the signal aborts. */
export async function runAgent(options: AgentRunOptions): Promise<void> {
  const { config, cluster, logger, metrics, signal } = options;
  const { clock = systemClock, random = systemRandom, createClient = createKubeClient } = options;
  const { massDeletionLimit, providerObjectsLimit } = config;
  const timing = { ...defaultTiming, massDeletionLimit, providerObjectsLimit, ...options.timing };
  const environment: Environment = { logger, clock, random, metrics: konnectorMetrics(metrics), timing };
  const name = config.controlPlane === undefined ? "consumer" : "binding";
  const ownConfig = { ...cluster, name };
  await using stack = new AsyncDisposableStack();
  // The lease has a client of its own: a guarded one could never take the lease.
  const leaseClient = stack.use(createClient(ownConfig, { userAgent, flowControl: false, clock, random }));
  const elector = new LeaderElector({
    client: leaseClient,
    namespace: config.leaseNamespace,
    name: config.leaseName,
    identity: config.identity,
    clock,
    logger,
  });
  const guarded = { userAgent, logger, metrics, clock, random, writeGuard: elector };
  const client = stack.use(createClient(ownConfig, guarded));
  const pool = stack.use(new CachePool({ client, digests: consumerDigests, logger, clock, random }));
  const create = (other: ClusterConfig): KubeClient => createClient(other, guarded);
  const terms = new Terms({ config, ownConfig, elector, client, pool, environment, create });
  options.onHealth?.({
    isLeader: () => elector.isLeader(),
    problems: () => [...pool.problems(), ...terms.problems()],
    looks: () => environment.metrics.looks.count,
  });
  const lease = new AbortController();
  const election = elector.run({ signal: lease.signal });
  try {
    await terms.run(signal);
  } finally {
    // The lease is given back only after the last write has ended.
    lease.abort(new Error("stopping"));
    await election;
  }
}

interface TermsOptions {
  readonly config: AgentRunOptions["config"];
  readonly ownConfig: ClusterConfig;
  readonly elector: LeaderElector;
  readonly client: KubeClient;
  readonly pool: ClusterCaches;
  readonly environment: Environment;
  readonly create: (config: ClusterConfig) => KubeClient;
}

/** One agent for each term of the lease: what one term knew is not trusted in the next. */
class Terms {
  readonly #options: TermsOptions;
  #agent: Agent | ControlPlaneAgent | undefined;

  constructor(options: TermsOptions) {
    this.#options = options;
  }

  problems(): readonly string[] {
    return this.#agent?.problems() ?? [];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { elector, environment } = this.#options;
    const { clock, random, logger } = environment;
    const backoff = new Backoff({ baseMs: 200, capMs: 10_000, random });
    while (!signal.aborted) {
      const term = await leading(elector, signal);
      if (term === undefined) return;
      const both = AbortSignal.any([signal, term]);
      try {
        await this.#serve(both);
        backoff.reset();
      } catch (error) {
        if (both.aborted) continue;
        logger.error("the agent failed, starting it anew", { error });
        await clock.sleep(backoff.next(), { signal: both }).catch(() => undefined);
      }
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const { config, client, environment } = this.#options;
    const bindingType = await bindingResource(client, environment, config.installCrd, signal);
    await using agent =
      config.controlPlane === undefined
        ? await this.#appClusterAgent(bindingType, signal)
        : this.#controlPlaneAgent(config.controlPlane, bindingType);
    this.#agent = agent;
    try {
      await agent.start({ signal });
    } finally {
      this.#agent = undefined;
    }
  }

  async #appClusterAgent(bindingType: ResourceType, signal: AbortSignal): Promise<Agent> {
    const { client, pool, environment, create } = this.#options;
    const uid = await clusterUid(client, environment, signal);
    const consumer: ConsumerCluster = { side: "consumer", client, pool, uid };
    const bindingCluster = { side: "binding", client, pool, bindingType } as const;
    return new Agent({ consumer, bindingCluster, createProviderClient: create, environment });
  }

  #controlPlaneAgent(
    mode: NonNullable<KonnectorConfig["controlPlane"]>,
    bindingType: ResourceType,
  ): ControlPlaneAgent {
    const { client, pool, environment, create, ownConfig } = this.#options;
    return new ControlPlaneAgent({
      mode,
      bindingCluster: { side: "binding", client, pool, bindingType, namespace: mode.rootNamespace },
      providerConfig: ownConfig,
      createProviderClient: create,
      createConsumerClient: create,
      environment,
    });
  }
}

/**
 * The resource of the bindings. Its CRD is created when it is absent and installing is wanted; without the right to, it must be there.
 * One of version 1.5 or older is cluster-scoped, which cannot be changed, and works as it is.
 */
async function bindingResource(
  client: KubeClient,
  { logger, clock }: Environment,
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
    const isClusterScoped = isRecord(crd?.spec) && crd.spec["scope"] === "Cluster";
    return { ...apiServiceBindings, namespaced: !isClusterScoped };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    logger.warn("not allowed to look at the CustomResourceDefinition of bindings", { name, error });
    return apiServiceBindings;
  }
}
