/** One client for each ProviderConfig of a service broker, with its catalog. */
import type { Clock } from "@klutch/kube";
import {
  type BrokerConfig,
  type Catalog,
  createOsbClient,
  type ObserveCall,
  type OsbClient,
} from "@klutch/osb";
import type { Metrics } from "@klutch/telemetry";
import { CachedCatalog } from "./catalog-cache.ts";
import { andTelling, requestObserver } from "../provider-config/client-metrics.ts";
import { type ConfigSource, ConfiguredClients } from "../provider-config/clients.ts";

/** A broker as managed resources use it. */
export interface Broker {
  readonly osb: OsbClient;
  /** From memory for a minute. */
  catalog(options: { readonly signal: AbortSignal }): Promise<Catalog>;
}

/** What clients of brokers need. */
export interface BrokersOptions extends ConfigSource {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Brokers by name of their ProviderConfig. */
export type Brokers = ConfiguredClients<Broker & AsyncDisposable>;

/** Without any client yet. */
export function createBrokers(options: BrokersOptions): Brokers {
  const observe = requestObserver(options.metrics);
  return new ConfiguredClients(options, {
    serviceType: "servicebroker",
    create: (config, answered) => createBroker(config, andTelling(observe, answered), options.clock),
  });
}

function createBroker(config: BrokerConfig, observe: ObserveCall, clock: Clock): Broker & AsyncDisposable {
  const osb = createOsbClient(config, observe);
  const cached = new CachedCatalog(clock, (options) => osb.catalog(options));
  return {
    osb,
    catalog: (options) => cached.get(options),
    [Symbol.asyncDispose]: () => osb[Symbol.asyncDispose](),
  };
}
