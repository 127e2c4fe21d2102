/** One client for each ProviderConfig, shared by all managed resources that name it. */
import { createHash } from "node:crypto";
import type { ProviderConfig } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import type { Clock, KubeClient } from "@klutch/kube";
import { refOf, type ResourceType } from "@klutch/kube-core";
import { Informer, type InformerOptions } from "@klutch/kube-runtime";
import type { Metrics } from "@klutch/telemetry";
import * as declarations from "../metrics.ts";
import { type BackendSettings, brokerConfigOf } from "./settings.ts";

/** There is no such ProviderConfig. */
export class UnknownConfigError extends ExternalError {
  /** The API server's words for the missing ProviderConfig. */
  readonly notFound: string;

  constructor(notFound: string) {
    super(`cannot get ProviderConfig: ${notFound}`);
    this.notFound = notFound;
  }
}

/** Sources of addresses and credentials. */
export interface ConfigSource {
  /** Reads the Secrets that ProviderConfigs name. */
  readonly client: KubeClient;
  readonly configs: Pick<ConfigCaches, "get" | "notFound">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Says how a client is made of a ProviderConfig, and of which type of it. */
export interface ClientKind<C extends AsyncDisposable> {
  readonly serviceType: ProviderConfig["spec"]["serviceType"];
  /** `answered` is to be told the status of each answer. */
  readonly create: (config: BackendSettings, answered: (status: number | undefined) => void) => C;
}

interface Entry<C> {
  /** Changes with anything that shapes the client. */
  readonly fingerprint: string;
  readonly client: C;
  /** The ProviderConfig whose settings were read, and the time; undefined: they must be read again. */
  read: { readonly config: ProviderConfig; readonly at: number } | undefined;
}

/** Time for which credentials are not read again: with thousands of resources at rest nearly all requests would be for one Secret. */
const settingsMaxAgeMs = 10_000;
/** The backend does not take the credentials: others may be in the Secret by now. */
const refusals: readonly (number | undefined)[] = [401, 403];

/** Clients by key of the ProviderConfig; replaced when address or credentials change. */
export class ConfiguredClients<C extends AsyncDisposable> implements AsyncDisposable {
  readonly #source: ConfigSource;
  readonly #kind: ClientKind<C>;
  readonly #entries = new Map<string, Entry<C>>();

  constructor(source: ConfigSource, kind: ClientKind<C>) {
    this.#source = source;
    this.#kind = kind;
  }

  /** The client for what the ProviderConfig with this key describes now, with credentials of at most ten seconds ago. Throws `ExternalError`. */
  async get(key: string, { signal }: { readonly signal: AbortSignal }): Promise<C> {
    const { client, env, clock } = this.#source;
    const { serviceType, create } = this.#kind;
    const config = this.#source.configs.get(key);
    if (config === undefined) throw new UnknownConfigError(this.#source.configs.notFound(key));
    if (config.spec.serviceType !== serviceType) {
      throw new ExternalError(
        `${config.kind} ${key} is a ${config.spec.serviceType}, but a ${serviceType} is needed`,
      );
    }
    const at = clock.monotonic();
    const known = this.#entries.get(key);
    if (known?.read?.config === config && at - known.read.at < settingsMaxAgeMs) return known.client;
    const settings = await brokerConfigOf(config, { client, env, signal });
    const fingerprint = createHash("sha256").update(JSON.stringify(settings)).digest("hex");
    const present = this.#entries.get(key);
    if (present?.fingerprint === fingerprint) {
      present.read = { config, at };
      return present.client;
    }
    // Calls that still run on the old client end by themselves; it has no connections once they have.
    const answered = (status: number | undefined): void => {
      if (refusals.includes(status)) entry.read = undefined;
    };
    const entry: Entry<C> = { fingerprint, client: create(settings, answered), read: { config, at } };
    this.#entries.set(key, entry);
    return entry.client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ client }) => client[Symbol.asyncDispose]()));
    this.#entries.clear();
  }
}

/** Is told of each request: which operation, the status of the answer or undefined when none came, and how long it took. */
export type ObserveCall = (operation: string, status: number | undefined, tookMs: number) => void;

/** Counts by operation and answer, not by backend: names of ProviderConfigs are their owners'. */
export function requestObserver(metrics: Metrics): ObserveCall {
  const requests = metrics.counter(declarations.brokerRequests);
  const durations = metrics.histogram(declarations.brokerRequestDuration);
  return (operation, status, tookMs) => {
    requests.labels({ operation, code: status === undefined ? "error" : String(status) }).inc();
    durations.labels({ operation }).observe(tookMs / 1000);
  };
}

/** Tells the second one the status, too. */
export function andTelling(
  observe: ObserveCall,
  answered: (status: number | undefined) => void,
): ObserveCall {
  return (operation, status, tookMs) => {
    observe(operation, status, tookMs);
    answered(status);
  };
}

/** A cache for each kind. */
export class ConfigCaches {
  /** Not started. */
  readonly informers: readonly Informer<ProviderConfig>[];

  constructor(
    types: readonly ResourceType[],
    options: Pick<InformerOptions<ProviderConfig>, "client" | "logger" | "clock" | "random" | "mayBeAbsent">,
  ) {
    this.informers = types.map((type) => new Informer<ProviderConfig>({ ...options, type }));
  }

  /** The ProviderConfig with this key. */
  get(key: string): ProviderConfig | undefined {
    for (const informer of this.informers) {
      const found = informer.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns the API server's words for a key without a ProviderConfig. */
  notFound(key: string): string {
    const { namespace, name } = refOf(key);
    const type = this.informers.find(({ type: { namespaced } }) => namespaced === (namespace !== undefined));
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    return `${type?.type.plural ?? ""} "${name}" not found${where}`;
  }
}
