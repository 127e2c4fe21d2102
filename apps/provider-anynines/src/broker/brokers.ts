/** One client for each ProviderConfig, shared by all managed resources that name it, with its catalog. */
import { createHash } from "node:crypto";
import type { ProviderConfig } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import type { Clock, KubeClient } from "@klutch/kube";
import { type Catalog, createOsbClient, type ObserveCall, type OsbClient } from "@klutch/osb";
import { clientMetrics, type Metrics } from "@klutch/telemetry";
import { brokerConfigOf } from "./broker-config.ts";

/** A broker as managed resources use it. */
export interface Broker {
  readonly osb: OsbClient;
  /** From memory for a minute. */
  catalog(options: { readonly signal: AbortSignal }): Promise<Catalog>;
}

interface Entry extends Broker {
  /** Changes with anything that shapes the client. */
  readonly fingerprint: string;
}

/** There is no such ProviderConfig. */
export class UnknownConfigError extends ExternalError {}

const catalogMaxAgeMs = 60_000;

/** What `Brokers` needs. */
export interface BrokersOptions {
  /** Reads the Secrets that ProviderConfigs name. */
  readonly client: KubeClient;
  /** The ProviderConfig of that name, from the informer. */
  readonly config: (name: string) => ProviderConfig | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Clients by name of the ProviderConfig; replaced when address or credentials change. */
export class Brokers implements AsyncDisposable {
  readonly #options: BrokersOptions;
  readonly #entries = new Map<string, Entry>();

  readonly #observe: ObserveCall;

  constructor(options: BrokersOptions) {
    this.#options = options;
    this.#observe = observerOf(options.metrics);
  }

  /** The broker that the ProviderConfig `name` describes now. Throws `ExternalError`. */
  async get(name: string, options: { readonly signal: AbortSignal }): Promise<Broker> {
    const { client, env } = this.#options;
    const config = this.#options.config(name);
    if (config === undefined)
      throw new UnknownConfigError(`cannot get ProviderConfig: providerconfigs "${name}" not found`);
    if (config.spec.serviceType !== "servicebroker") {
      throw new ExternalError(
        `ProviderConfig ${name} is a ${config.spec.serviceType}, but a servicebroker is needed`,
      );
    }
    const broker = await brokerConfigOf(config, { client, env, signal: options.signal });
    const fingerprint = createHash("sha256").update(JSON.stringify(broker)).digest("hex");
    const present = this.#entries.get(name);
    if (present?.fingerprint === fingerprint) return present;
    // Calls that still run on the old client end by themselves; it has no connections once they have.
    const entry = this.#createEntry(createOsbClient(broker, this.#observe), fingerprint);
    this.#entries.set(name, entry);
    return entry;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ osb }) => osb[Symbol.asyncDispose]()));
    this.#entries.clear();
  }

  #createEntry(osb: OsbClient, fingerprint: string): Entry {
    let cached: { readonly at: number; readonly catalog: Catalog } | undefined;
    return {
      osb,
      fingerprint,
      catalog: async (options) => {
        const now = this.#options.clock.monotonic();
        if (cached === undefined || now - cached.at > catalogMaxAgeMs)
          cached = { at: now, catalog: await osb.catalog(options) };
        return cached.catalog;
      },
    };
  }
}

/** Counts requests by verb and answer, not by broker: names of ProviderConfigs are their owners'. */
function observerOf(metrics: Metrics): ObserveCall {
  const requests = metrics.counter(clientMetrics.brokerRequests);
  const durations = metrics.histogram(clientMetrics.brokerRequestDuration);
  return (operation, status, tookMs) => {
    requests.labels({ operation, code: status === undefined ? "error" : String(status) }).inc();
    durations.labels({ operation }).observe(tookMs / 1000);
  };
}
