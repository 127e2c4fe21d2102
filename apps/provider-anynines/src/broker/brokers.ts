/** Keeps one client for each ProviderConfig of a service broker, and says which broker serves a managed resource, in whose name. */
import {
  instanceTypeLabel,
  type ManagedServiceBinding,
  type ProviderConfigContext,
  type ServiceInstance,
} from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isRecord, refOf } from "@klutch/kube-core";
import {
  type Catalog,
  createOsbClient,
  type ObserveCall,
  type OriginatingIdentity,
  type OsbClient,
  withIdentity,
} from "@klutch/osb";
import { typeOfProviderConfig } from "@klutch/services";
import type { Metrics } from "@klutch/telemetry";
import { claimKeys } from "../claims/names.ts";
import { notYet } from "../claims/waiting.ts";
import {
  andTelling,
  type ConfigSource,
  ConfiguredClients,
  requestObserver,
  UnknownConfigError,
} from "../provider-config/clients.ts";
import type { BackendSettings } from "../provider-config/settings.ts";
import { bareConfigName, configNameOf, shownConfig } from "../provider-config/reference.ts";
import { typeInRegion } from "../provider-config/region.ts";
import { CachedCatalog } from "./catalog-cache.ts";

/** A broker as managed resources use it. */
export interface Broker {
  readonly osb: OsbClient;
  /** Says who requests are for, as the ProviderConfig has it. */
  readonly context?: ProviderConfigContext | undefined;
  /** From memory for a minute. */
  catalog(options: { readonly signal: AbortSignal }): Promise<Catalog>;
}

/** Dependencies of clients of brokers. */
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

function createBroker(config: BackendSettings, observe: ObserveCall, clock: Clock): Broker & AsyncDisposable {
  const osb = createOsbClient(config, observe);
  const cached = new CachedCatalog(clock, (options) => osb.catalog(options));
  return {
    osb,
    context: config.context,
    catalog: (options) => cached.get(options),
    [Symbol.asyncDispose]: () => osb[Symbol.asyncDispose](),
  };
}

/** Throws when a binding asks another broker than its instance's: it would never find the instance there. */
export function checkServiceType(
  binding: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): void {
  if (instance === undefined || configNameOf(instance) === configNameOf(binding)) return;
  const inRegion = typeInRegion(instance);
  const type = inRegion ?? typeOfProviderConfig(bareConfigName(instance));
  if (typeOf(binding) === type) {
    // The function composes both, and follows the instance as soon as it sees it.
    if (inRegion !== undefined && binding.metadata.labels?.[instanceTypeLabel] === type)
      throw notYet(
        `the instance ${binding.spec.forProvider.instanceName} is made by the ${shownConfig(instance)}; the binding goes there within a minute`,
      );
    throw new ExternalError(
      `the binding names the ${shownConfig(binding)}, but the instance ${binding.spec.forProvider.instanceName} is made by the ${shownConfig(instance)}; ` +
        `both need the same`,
      { reason: "Refused" },
    );
  }
  throw new ExternalError(
    `serviceInstanceType is ${typeOf(binding)}, but the instance ${binding.spec.forProvider.instanceName} is of type ${type}; ` +
      `the binding needs serviceInstanceType ${type}`,
    { reason: "Refused" },
  );
}

/** The broker of an instance or a binding. A ProviderConfig that is missing means that no broker serves the type. */
export async function brokerOf(
  brokers: Pick<Brokers, "get">,
  managed: Managed,
  signal: AbortSignal,
): Promise<Broker> {
  const type = typeOf(managed);
  try {
    return await brokers.get(configNameOf(managed), { signal });
  } catch (cause) {
    if (!(cause instanceof UnknownConfigError)) throw cause;
    // People who compose managed resources themselves may name ProviderConfigs after something else than a type.
    const message =
      type === bareConfigName(managed)
        ? cause.message
        : `no broker here serves the type ${type}: ${cause.notFound}`;
    throw new ExternalError(message, { cause, reason: "NoBroker" });
  }
}

function typeOf(managed: Managed): string {
  return managed.metadata.labels?.[instanceTypeLabel] ?? typeOfProviderConfig(bareConfigName(managed));
}

/** As a managed resource names it; it counts when both are there. */
interface NamedIdentity {
  readonly platform?: string | undefined;
  readonly value?: string | undefined;
}

/** A managed resource of either kind. */
type Asking = Managed & {
  readonly spec: { readonly forProvider: { readonly originatingIdentity?: NamedIdentity | undefined } };
};

/** The broker, which is told with every call about `managed` who asks. Throws `ExternalError` for what no header can carry. */
export function brokerFor(broker: Broker, managed: Asking): Broker {
  const identity = identityOf(managed);
  if (identity === undefined) return broker;
  // The catalog is the same for everybody, and shared.
  return {
    osb: withIdentity(broker.osb, identity),
    context: broker.context,
    catalog: (options) => broker.catalog(options),
  };
}

/** Returns the user of the spec, or else the claim, in the form that Kubernetes gives to users; undefined without a claim. */
export function identityOf(managed: Asking): OriginatingIdentity | undefined {
  const { platform, value } = managed.spec.forProvider.originatingIdentity ?? {};
  if (platform === undefined || value === undefined) return claimIdentity(managed);
  if (/^[\x21-\x7e]{1,100}$/.test(platform)) return { platform, value: objectOf(value) };
  // What was once accepted must not stand in the way of a deletion.
  if (managed.metadata.deletionTimestamp !== undefined) return claimIdentity(managed);
  throw new ExternalError(
    `spec.forProvider.originatingIdentity.platform is ${JSON.stringify(platform.slice(0, 100))}; ` +
      `it must have 1 to 100 visible ASCII characters without spaces, such as kubernetes`,
  );
}

function claimIdentity(managed: Managed): OriginatingIdentity | undefined {
  const [key] = claimKeys(managed);
  if (key === undefined) return undefined;
  const { namespace = "", name } = refOf(key);
  return {
    platform: "kubernetes",
    value: {
      username: `klutch:claim:${namespace}:${name}`,
      uid: managed.metadata.uid ?? "",
      groups: [`klutch:claims:${namespace}`],
      extra: {},
    },
  };
}

/** The specification wants an object; a plain text is the name of a user. */
function objectOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // Not JSON, so it is the name.
  }
  return { username: text };
}
