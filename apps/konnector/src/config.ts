/** Flags and environment of the konnector. */
import { parseArgs } from "node:util";
import { consumerNamespace } from "@klutch/api";
import type { LogLevel } from "@klutch/telemetry";
import { ConfigError } from "./errors.ts";

/** The agent runs beside the backend and reaches the app cluster with a kubeconfig from a Secret. */
export interface ControlPlaneMode {
  readonly secretName: string;
  readonly secretNamespace: string;
  /** Default `kubeconfig`. */
  readonly secretKey: string;
  /** Namespace of the bindings, and the cluster namespace. */
  readonly rootNamespace: string;
}

/** How a konnector process runs. */
export interface KonnectorConfig {
  /** Kubeconfig of the cluster with the bindings (the app cluster, in control-plane mode the control plane); in-cluster configuration when absent. */
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
  /** See `Timing.massDeletionLimit`. */
  readonly massDeletionLimit: number;
  /** See `Timing.providerObjectsLimit`. */
  readonly providerObjectsLimit: number;
  readonly controlPlane: ControlPlaneMode | undefined;
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
  "mass-deletion-limit": { type: "string" },
  "provider-objects-limit": { type: "string" },
  // Log flags of existing manifests: accepted, `--v` of 4 and more means debug.
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
  const massDeletionLimit = Number(values["mass-deletion-limit"] ?? 100);
  if (!Number.isInteger(massDeletionLimit) || massDeletionLimit < 0)
    faults.push(
      `--mass-deletion-limit must be 0 (never hold) or more, not "${values["mass-deletion-limit"]}"`,
    );
  const providerObjectsLimit = Number(values["provider-objects-limit"] ?? 1_000);
  if (!Number.isInteger(providerObjectsLimit) || providerObjectsLimit < 0)
    faults.push(
      `--provider-objects-limit must be 0 (no limit) or more, not "${values["provider-objects-limit"]}"`,
    );
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
    massDeletionLimit,
    providerObjectsLimit,
    controlPlane: controlPlaneMode(values),
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
  return faults;
}

function controlPlaneMode(values: Values): ControlPlaneMode | undefined {
  if (values["control-plane-mode"] !== true) return undefined;
  return {
    secretName: values["app-cluster-kubeconfig-secret-name"] ?? "",
    secretNamespace: values["app-cluster-kubeconfig-secret-namespace"] ?? "",
    secretKey: values["app-cluster-kubeconfig-secret-key"] ?? "kubeconfig",
    rootNamespace: values["binding-root-namespace"] ?? "",
  };
}
