/**
 * Reads the variables of OpenTelemetry's specification that concern traces. Faults name the variable; an address is never repeated, because
 * it may hold credentials.
 */

/** Environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Decides about a new trace. */
export interface SamplerChoice {
  /** Share of new traces that are recorded, from 0 to 1. */
  readonly ratio: number;
  /** Work that a recorded span caused is recorded, too. */
  readonly followsParent: boolean;
}

/** Configuration of traces that are on. */
export interface TracingConfig {
  /** URL to which spans are posted; may hold credentials. */
  readonly url: string;
  /** Its scheme, host and port, for logs. */
  readonly shownUrl: string;
  readonly serviceName: string;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  readonly sampler: SamplerChoice;
  /** Longest duration of one export. Default 10 000. */
  readonly timeoutMs: number;
  /** Spans that wait or are being sent at most; more are dropped. Default 2048. */
  readonly maxQueueSize: number;
  /** Default 512. */
  readonly maxBatchSize: number;
  /** Time for which spans are collected. Default 5000. */
  readonly delayMs: number;
}

/** The configuration, undefined while tracing is off; and the faults of the variables, one sentence each. */
export interface ReadTracing {
  readonly config: TracingConfig | undefined;
  readonly faults: readonly string[];
}

/** Reads the variables. Only looks at the others where an endpoint is set. `serviceName` is that of the program. */
export function readTracing(env: Environment, serviceName: string): ReadTracing {
  const own = given(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const common = given(env, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (own === undefined && common === undefined) return { config: undefined, faults: [] };
  if (given(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return { config: undefined, faults: [] };
  if (given(env, "OTEL_TRACES_EXPORTER") === "none") return { config: undefined, faults: [] };
  const reader = new Reader(env);
  reader.oneOf("OTEL_TRACES_EXPORTER", ["otlp"], "otlp");
  reader.oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", ["http/json"], "http/json");
  reader.oneOf("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", ["http/json"], "http/json");
  const url =
    own === undefined
      ? reader.url("OTEL_EXPORTER_OTLP_ENDPOINT", common ?? "", "v1/traces")
      : reader.url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own, undefined);
  const attributes = reader.pairs("OTEL_RESOURCE_ATTRIBUTES");
  const maxQueueSize = reader.count("OTEL_BSP_MAX_QUEUE_SIZE", 2048, 100_000);
  const config: TracingConfig = {
    url: url.href,
    shownUrl: url.origin,
    serviceName: given(env, "OTEL_SERVICE_NAME") ?? attributes["service.name"] ?? serviceName,
    resourceAttributes: attributes,
    sampler: reader.sampler(),
    timeoutMs: reader.count(
      "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
      reader.count("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000, 600_000),
      600_000,
    ),
    maxQueueSize,
    maxBatchSize: Math.min(maxQueueSize, reader.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 100_000)),
    delayMs: reader.count("OTEL_BSP_SCHEDULE_DELAY", 5000, 600_000),
  };
  return reader.faults.length === 0 ? { config, faults: [] } : { config: undefined, faults: reader.faults };
}

/** An empty variable counts as one that is not set, as the specification has it. */
function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

const samplers = {
  always_on: { usesRatio: false, ratio: 1, followsParent: false },
  always_off: { usesRatio: false, ratio: 0, followsParent: false },
  traceidratio: { usesRatio: true, ratio: 1, followsParent: false },
  parentbased_always_on: { usesRatio: false, ratio: 1, followsParent: true },
  parentbased_always_off: { usesRatio: false, ratio: 0, followsParent: true },
  parentbased_traceidratio: { usesRatio: true, ratio: 1, followsParent: true },
} as const;

/** Longest part of a wrong value that a fault repeats. */
const longestShown = 60;

class Reader {
  readonly faults: string[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  oneOf<T extends string>(name: string, values: readonly T[], otherwise: T): T {
    const value = given(this.#env, name);
    if (value === undefined) return otherwise;
    const found = values.find((one) => one === value);
    if (found === undefined) this.#fault(name, value, `must be ${values.join(", ")}`);
    return found ?? otherwise;
  }

  count(name: string, otherwise: number, most: number): number {
    const value = given(this.#env, name);
    if (value === undefined) return otherwise;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (number >= 1 && number <= most) return number;
    this.#fault(name, value, `must be a whole number from 1 to ${most}`);
    return otherwise;
  }

  url(name: string, value: string, path: string | undefined): URL {
    const none = new URL("http://localhost:4318");
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.hash !== "") {
      this.faults.push(`${name} must be an http or https URL, such as http://collector:4318`);
      return none;
    }
    if (path !== undefined) url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
    return url;
  }

  /** Reads `key=value,…`; values may be percent-encoded. They may come from a template that holds a secret, so that only keys are shown. */
  pairs(name: string): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const pair of (given(this.#env, name) ?? "").split(",")) {
      if (pair.trim() === "") continue;
      const at = pair.indexOf("=");
      const key = pair.slice(0, Math.max(0, at)).trim();
      const value = decoded(pair.slice(at + 1).trim());
      if (key === "" || value === undefined) {
        this.faults.push(
          `${name} must be key=value pairs with commas between them; values may be percent-encoded`,
        );
        return found;
      }
      found[key] = value;
    }
    return found;
  }

  sampler(): SamplerChoice {
    const names = Object.keys(samplers).filter(isSampler);
    const name = this.oneOf("OTEL_TRACES_SAMPLER", names, "parentbased_always_on");
    const { usesRatio, ...choice } = samplers[name];
    const argument = given(this.#env, "OTEL_TRACES_SAMPLER_ARG");
    if (!usesRatio || argument === undefined) return choice;
    const ratio = /^(?:\d+(?:\.\d*)?|\.\d+)(?:e-?\d+)?$/i.test(argument) ? Number(argument) : Number.NaN;
    if (ratio >= 0 && ratio <= 1) return { ...choice, ratio };
    this.#fault("OTEL_TRACES_SAMPLER_ARG", argument, "must be a number from 0 to 1");
    return choice;
  }

  #fault(name: string, value: string, rule: string): void {
    const shown = value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;
    this.faults.push(`${name} is ${JSON.stringify(shown)}, ${rule}`);
  }
}

function isSampler(name: string): name is keyof typeof samplers {
  return Object.hasOwn(samplers, name);
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
