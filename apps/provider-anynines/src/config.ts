/** Flags and environment of the provider; their names are those that Crossplane's providers have. */
import { klutchVersion } from "@klutch/api";
import {
  type Address,
  type ConfigSource,
  duration,
  ignored,
  identityFlag,
  kubeconfigFlag,
  probesFlag,
  type Program,
  requireFlags,
  text,
  toggle,
  wholeNumber,
} from "@klutch/kube-runtime";
import type { LogLevel } from "@klutch/telemetry";

/** How the provider runs. */
export interface ProviderProcessConfig {
  readonly logLevel: LogLevel;
  readonly leaderElection: boolean;
  /** Where /healthz, /readyz and /metrics are served. */
  readonly probes: Address;
  readonly pollIntervalMs: number;
  readonly workers: number;
  /** Namespace of the lease. */
  readonly namespace: string;
  /** The holder of the lease; unique among the replicas. */
  readonly identity: string;
  readonly kubeconfig: string | undefined;
}

const flags = {
  debug: toggle({ short: "d", help: "Log more" }),
  "leader-election": toggle({
    short: "l",
    help: "Work only while holding the lease, so that several replicas may run",
    env: "LEADER_ELECTION",
  }),
  "health-probe-bind-address": probesFlag({ default: ":8081" }),
  sync: { ...ignored({ value: "duration", default: "1h" }), short: "s" },
  poll: duration({ help: "How often each managed resource is compared with its broker", default: "1m" }),
  "max-reconcile-rate": wholeNumber(
    {
      help: "Managed resources of one kind and one broker or backup manager that are worked on at the same time",
      default: "10",
    },
    { least: 1 },
  ),
  namespace: text({ help: "Namespace of the lease", env: "POD_NAMESPACE", default: "crossplane-system" }),
  identity: identityFlag,
  kubeconfig: kubeconfigFlag,
  "enable-management-policies": toggle({
    help: "Accepted for existing manifests; management policies always hold",
    default: "true",
  }),
};

/** The provider and its flags. */
export const providerProgram: Program<ProviderProcessConfig> = {
  name: "provider-anynines",
  version: klutchVersion,
  summary: "makes instances and bindings at service brokers from Crossplane's managed resources",
  flags,
  readConfig,
};

function readConfig(source: ConfigSource): ProviderProcessConfig {
  const values = requireFlags(flags, source);
  return {
    logLevel: values.debug ? "debug" : "info",
    leaderElection: values["leader-election"],
    probes: values["health-probe-bind-address"],
    pollIntervalMs: values.poll,
    workers: values["max-reconcile-rate"],
    namespace: values.namespace,
    identity: values.identity ?? source.randomName(),
    kubeconfig: values.kubeconfig,
  };
}
