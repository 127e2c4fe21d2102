/** Flags and environment of the konnector (reference/bind.md §4.1), plus ours for probes, logs and timing. */
import { parseArgs } from "node:util";
import { consumerNamespace } from "@klutch/api";
import type { LogLevel } from "@klutch/telemetry";
import { ConfigError } from "./errors.ts";

/** How a konnector process runs. */
export interface KonnectorConfig {
  /** Kubeconfig of the app cluster; in-cluster configuration when absent. */
  readonly kubeconfig: string | undefined;
  readonly leaseName: string;
  readonly leaseNamespace: string;
  /** Unique among the replicas. */
  readonly identity: string;
  readonly probeHost: string | undefined;
  /** Default 8080, which the shipped manifests probe; 0 chooses a free one. */
  readonly probePort: number;
  readonly logLevel: LogLevel;
  /** Whether the APIServiceBinding CRD is created when it is absent. Default true. */
  readonly installCrd: boolean;
}

/** What the process was started with. */
export interface ConfigSource {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Used for the lease identity when no pod name is known. */
  readonly randomName: () => string;
}

const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

const flags = {
  kubeconfig: { type: "string" },
  "lease-name": { type: "string" },
  "lease-namespace": { type: "string" },
  "control-plane-mode": { type: "boolean" },
  "app-cluster-kubeconfig-secret-name": { type: "string" },
  "app-cluster-kubeconfig-secret-namespace": { type: "string" },
  "app-cluster-kubeconfig-secret-key": { type: "string" },
  "binding-root-namespace": { type: "string" },
  "probe-host": { type: "string" },
  "probe-port": { type: "string" },
  "log-level": { type: "string" },
  "no-install-crd": { type: "boolean" },
  // Log flags of the reference's manifests: accepted, `--v` of 4 and more means debug.
  v: { type: "string", short: "v" },
  vmodule: { type: "string" },
  "logging-format": { type: "string" },
  "log-flush-frequency": { type: "string" },
} as const;

/** Reads the configuration. Throws `ConfigError` that lists every fault at once. */
export function parseConfig(source: ConfigSource): KonnectorConfig {
  const values = parseFlags(source.args);
  const { env } = source;
  const faults: string[] = controlPlaneFaults(values);
  const probePort = Number(values["probe-port"] ?? 8080);
  if (!Number.isInteger(probePort) || probePort < 0 || probePort > 65_535) {
    faults.push(`--probe-port must be a port number, not "${values["probe-port"]}"`);
  }
  // Go programs take `-v=4`, which leaves the equals sign in the value here.
  const verbose = Number((values.v ?? "0").replace(/^=/, "")) >= 4;
  const logLevel = logLevels.find((level) => level === (values["log-level"] ?? (verbose ? "debug" : "info")));
  if (logLevel === undefined) faults.push(`--log-level must be one of ${logLevels.join(", ")}`);
  if (values["lease-name"] === "") faults.push("--lease-name must not be empty");
  if (faults.length > 0 || logLevel === undefined) throw new ConfigError(faults);
  return {
    kubeconfig: values.kubeconfig,
    leaseName: values["lease-name"] ?? consumerNamespace,
    leaseNamespace: values["lease-namespace"] ?? env["POD_NAMESPACE"] ?? "kube-system",
    identity: env["POD_NAME"] ?? source.randomName(),
    probeHost: values["probe-host"],
    probePort,
    logLevel,
    installCrd: values["no-install-crd"] !== true,
  };
}

type Values = ReturnType<typeof parseArgs<{ options: typeof flags }>>["values"];

function parseFlags(args: readonly string[]): Values {
  try {
    return parseArgs({ args: [...args], options: flags, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError([message], { cause });
  }
}

/** The mode's own rules are checked first, so that a wrong combination is told even though the mode is not served yet. */
function controlPlaneFaults(values: Values): string[] {
  if (values["control-plane-mode"] !== true) return [];
  const required = [
    "app-cluster-kubeconfig-secret-name",
    "app-cluster-kubeconfig-secret-namespace",
    "binding-root-namespace",
  ] as const;
  const faults = required
    .filter((name) => (values[name] ?? "") === "")
    .map((name) => `--${name} is required with --control-plane-mode`);
  if (values["app-cluster-kubeconfig-secret-key"] === "") {
    faults.push("--app-cluster-kubeconfig-secret-key must not be empty");
  }
  return [...faults, "--control-plane-mode is not yet available: run the konnector in the app cluster"];
}
