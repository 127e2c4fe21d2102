/** The cluster that a process works for: its lease, and clients that write only while the process holds it. */
import { type ClusterConfig, createKubeClient, type KubeClient } from "@klutch/kube";
import { controllerMetrics } from "@klutch/telemetry";
import { LeaderElector } from "../leader-elector.ts";
import type { Runtime } from "./runtime.ts";

/** The lease that processes of one kind compete for. */
export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique among the competitors, such as the pod's name. */
  readonly identity: string;
}

/** Options of a connection. */
export interface ClusterConnectionOptions extends Runtime {
  readonly config: ClusterConfig;
  readonly userAgent: string;
  /** Without one there is no competition, and writes are always allowed. */
  readonly lease?: LeaseOptions | undefined;
  /** For tests that count requests or inject faults. Default `createKubeClient`. */
  readonly createClient?: typeof createKubeClient | undefined;
}

/** Disposing it closes the clients that it holds; the lease is the Manager's to give back. */
export class ClusterConnection implements AsyncDisposable {
  readonly config: ClusterConfig;
  readonly elector: LeaderElector | undefined;
  /** Asks the lease before each write. */
  readonly client: KubeClient;
  readonly #options: ClusterConnectionOptions;
  readonly #leaseClient: KubeClient | undefined;

  constructor(options: ClusterConnectionOptions) {
    this.#options = options;
    this.config = options.config;
    const { config, userAgent, lease, clock, random, logger, createClient = createKubeClient } = options;
    if (lease !== undefined) {
      // A client of its own: a guarded one could never take the lease, and one with flow control might renew it too late.
      const client = createClient(config, { userAgent, flowControl: false, clock, random });
      this.#leaseClient = client;
      const elector = new LeaderElector({ ...lease, client, clock, logger });
      this.elector = elector;
      options.metrics.read(controllerMetrics.masterStatus, () => [
        { labels: { name: lease.name }, value: elector.isLeader() ? 1 : 0 },
      ]);
    }
    this.client = this.clientFor(config);
  }

  /**
   * A client for this or another cluster. It writes only while this process holds the lease, unless `guarded` is false. Who asks for
   * it disposes it.
   */
  clientFor(config: ClusterConfig, { guarded = true }: { readonly guarded?: boolean } = {}): KubeClient {
    const { createClient = createKubeClient, userAgent, logger, metrics, clock, random } = this.#options;
    const writeGuard = guarded ? this.elector : undefined;
    return createClient(config, { userAgent, logger, metrics, clock, random, writeGuard });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.#leaseClient?.[Symbol.asyncDispose]();
  }
}
