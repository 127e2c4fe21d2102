/** Flags and environment of the provider. */
import { parseArgs } from "node:util";

/** How the provider runs. */
export interface ProviderProcessConfig {
  readonly verbose: boolean;
  readonly leaderElection: boolean;
  /** Host (empty for all) and port of /healthz, /readyz and /metrics. */
  readonly probeHost: string;
  readonly probePort: number;
  readonly pollIntervalMs: number;
  readonly workers: number;
  /** Namespace of the lease. */
  readonly namespace: string;
  readonly kubeconfig: string | undefined;
}

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads the command line and the environment. Throws an error that names every fault. */
export function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ProviderProcessConfig {
  const { values } = parseArgs({
    args: [...args],
    options: {
      debug: { type: "boolean", short: "d", default: false },
      "leader-election": { type: "boolean", short: "l", default: env["LEADER_ELECTION"] === "true" },
      "health-probe-bind-address": { type: "string", default: ":8081" },
      sync: { type: "string", short: "s", default: "1h" },
      poll: { type: "string", default: "1m" },
      "max-reconcile-rate": { type: "string", default: "10" },
      namespace: { type: "string", default: env["POD_NAMESPACE"] ?? "crossplane-system" },
      kubeconfig: { type: "string" },
      "enable-management-policies": { type: "boolean", default: true },
    },
  });
  const faults: string[] = [];
  const address = /^(?<host>.*):(?<port>\d+)$/.exec(values["health-probe-bind-address"]);
  if (address === null) faults.push("--health-probe-bind-address is not host:port");
  const pollIntervalMs = milliseconds(values.poll);
  if (pollIntervalMs === undefined)
    faults.push(`--poll: ${JSON.stringify(values.poll)} is not a duration such as 1m`);
  const workers = Number(values["max-reconcile-rate"]);
  if (!Number.isInteger(workers) || workers < 1)
    faults.push("--max-reconcile-rate is not a whole number from 1");
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return {
    verbose: values.debug,
    leaderElection: values["leader-election"],
    probeHost: address?.groups?.["host"] ?? "",
    probePort: Number(address?.groups?.["port"]),
    pollIntervalMs: pollIntervalMs ?? 60_000,
    workers,
    namespace: values.namespace,
    kubeconfig: values.kubeconfig,
  };
}

function milliseconds(text: string): number | undefined {
  const match = /^(?<number>\d+)(?<unit>ms|s|m|h)$/.exec(text);
  return match === null
    ? undefined
    : Number(match.groups?.["number"]) * (durationUnits[match.groups?.["unit"] ?? ""] ?? 0);
}
