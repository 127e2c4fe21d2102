/** The konnector as a function: clients, lease, probes, agent; in order up, in reverse order down. */
import { apiServiceBindingCrd, customResourceDefinitions, isTrue, namespaces } from "@klutch/api";
import {
  type Clock,
  type ClusterConfig,
  createKubeClient,
  type DynamicObject,
  isForbidden,
  type KubeClient,
  type Random,
  systemClock,
  systemRandom,
} from "@klutch/kube";
import { Backoff, LeaderElector, startProbes } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { Agent } from "./agent.ts";
import { CachePool } from "./cache/pool.ts";
import { type ConsumerCluster, defaultTiming, type Environment, type Timing } from "./clusters.ts";
import type { KonnectorConfig } from "./config.ts";
import { asDynamic, conditionsOf } from "./decode.ts";
import { konnectorMetrics } from "./metrics.ts";

/** What `runKonnector` needs. */
export interface KonnectorOptions {
  readonly config: KonnectorConfig;
  /** The app cluster. */
  readonly cluster: ClusterConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Ends the konnector; it gives its lease back. */
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly timing?: Partial<Timing> | undefined;
  /** Called when the probes listen. */
  readonly onListening?: ((port: number) => void) | undefined;
  /** Makes the clients; for tests that count requests or inject faults. Default `createKubeClient`. */
  readonly createClient?: typeof createKubeClient | undefined;
}

const userAgent = "konnector";

/** Runs until the signal aborts. Throws when the process cannot work at all: port taken, no access to the app cluster. */
export async function runKonnector(options: KonnectorOptions): Promise<void> {
  const { config, cluster, logger, metrics, signal } = options;
  const { clock = systemClock, random = systemRandom, createClient = createKubeClient } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const environment: Environment = { logger, clock, random, metrics: konnectorMetrics(metrics), timing };
  const consumerConfig = { ...cluster, name: "consumer" };
  await using stack = new AsyncDisposableStack();
  // The lease has a client of its own: a guarded one could never take the lease.
  const leaseClient = stack.use(createClient(consumerConfig, { userAgent, flowControl: false, clock }));
  const elector = new LeaderElector({
    client: leaseClient,
    namespace: config.leaseNamespace,
    name: config.leaseName,
    identity: config.identity,
    clock,
    logger,
  });
  const guarded = { userAgent, logger, metrics, clock, writeGuard: elector };
  const client = stack.use(createClient(consumerConfig, guarded));
  const pool = stack.use(new CachePool({ client, logger, clock, random }));
  const terms = new Terms({
    elector,
    client,
    pool,
    environment,
    installCrd: config.installCrd,
    createProviderClient: (provider) => createClient(provider, guarded),
  });
  stack.use(await serveProbes(options, elector, () => [...pool.problems(), ...terms.problems()]));
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

async function serveProbes(
  { config, metrics, onListening }: KonnectorOptions,
  elector: LeaderElector,
  problems: () => readonly string[],
): Promise<AsyncDisposable> {
  metrics.observedGauge("klutch_leader", "Whether this process holds the lease", () =>
    elector.isLeader() ? 1 : 0,
  );
  const probes = await startProbes({
    host: config.probeHost,
    port: config.probePort,
    // A process that waits for the lease is well; one that lost it does not write, so it is well, too.
    healthChecks: { leaderElection: () => undefined },
    readyChecks: { caches: () => problems().join(", ") || undefined },
    metrics,
  });
  onListening?.(probes.port);
  return probes;
}

interface TermsOptions {
  readonly elector: LeaderElector;
  readonly client: KubeClient;
  readonly pool: CachePool;
  readonly environment: Environment;
  readonly installCrd: boolean;
  readonly createProviderClient: (config: ClusterConfig) => KubeClient;
}

/** One agent for each term of the lease: what one term knew is not trusted in the next. */
class Terms {
  readonly #options: TermsOptions;
  #agent: Agent | undefined;

  constructor(options: TermsOptions) {
    this.#options = options;
  }

  problems(): readonly string[] {
    return this.#agent?.problems() ?? [];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { elector, client, pool, environment, installCrd: install, createProviderClient } = this.#options;
    const uid = await clusterUid(client, environment, signal);
    if (uid === undefined) return;
    const consumer: ConsumerCluster = { side: "consumer", client, pool, uid };
    while (!signal.aborted) {
      const term = await leading(elector, signal);
      if (term === undefined) return;
      const both = AbortSignal.any([signal, term]);
      if (install) await installCrd(consumer, environment, both);
      await using agent = new Agent({ consumer, createProviderClient, environment });
      this.#agent = agent;
      await agent.run(both);
      this.#agent = undefined;
    }
  }
}

/** UID of kube-system; waits until the app cluster answers. Undefined when aborted first. */
async function clusterUid(
  client: KubeClient,
  { clock, random, logger }: Environment,
  signal: AbortSignal,
): Promise<string | undefined> {
  const backoff = new Backoff({ baseMs: 200, capMs: 10_000, random });
  while (!signal.aborted) {
    try {
      const kubeSystem = await client.get<DynamicObject>(namespaces, { name: "kube-system" }, { signal });
      return kubeSystem.metadata.uid ?? "";
    } catch (error) {
      if (signal.aborted) return undefined;
      logger.warn("the app cluster does not answer, trying again", { error });
      await clock.sleep(backoff.next(), { signal }).catch(() => undefined);
    }
  }
  return undefined;
}

async function leading(elector: LeaderElector, signal: AbortSignal): Promise<AbortSignal | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const term = await Promise.race([elector.whenLeading(), promise]);
  signal.removeEventListener("abort", onAbort);
  return term;
}

/** Creates the APIServiceBinding CRD when it is absent and waits until it is served. Without the right to, it must be there already. */
async function installCrd(
  { client }: ConsumerCluster,
  { logger, clock }: Environment,
  signal: AbortSignal,
): Promise<void> {
  const { name } = apiServiceBindingCrd.metadata;
  try {
    const present = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    if (present === undefined) {
      await client.create(customResourceDefinitions, asDynamic(apiServiceBindingCrd), { signal });
      logger.info("installed the CustomResourceDefinition of bindings", { name });
    }
    for (let served = present; !isTrue(conditionsOf(served), "Established"); ) {
      await clock.sleep(100, { signal });
      served = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    }
  } catch (error) {
    if (signal.aborted) return;
    if (!isForbidden(error)) throw error;
    logger.warn("not allowed to install the CustomResourceDefinition of bindings", { name, error });
  }
}
