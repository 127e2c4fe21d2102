/** Flags that all processes of controllers in the control plane have, named as in Crossplane's providers. */
import type { LogLevel } from "@klutch/telemetry";
import { type Address, type Flag, type FlagTable, text, toggle, type ValuesOf } from "./flag.ts";
import { kubeconfigFlag } from "./own-cluster.ts";
import type { ConfigSource } from "./run-process.ts";
import { identityFlag, probesFlag } from "./shared-flags.ts";

/** Configuration of such a process. */
export interface ControllersConfig {
  readonly logLevel: LogLevel;
  /** Work only while holding the lease. */
  readonly leaderElection: boolean;
  /** Address of /healthz, /readyz and /metrics. */
  readonly probes: Address;
  /** Namespace of the lease. */
  readonly namespace: string;
  /** The holder of the lease; unique among the replicas. */
  readonly identity: string;
  readonly kubeconfig: string | undefined;
}

/** The flags' own table. */
export interface ControllersFlags extends FlagTable {
  readonly debug: Flag<boolean>;
  readonly "leader-election": Flag<boolean>;
  readonly "health-probe-bind-address": Flag<Address>;
  readonly namespace: Flag<string>;
  readonly identity: Flag<string | undefined>;
  readonly kubeconfig: Flag<string | undefined>;
}

/** Returns the table, with these defaults. */
export function controllersFlags(defaults: {
  readonly probes: string;
  readonly namespace: string;
}): ControllersFlags {
  return {
    debug: toggle({ short: "d", help: "Log more" }),
    "leader-election": toggle({
      short: "l",
      help: "Work only while holding the lease, so that several replicas may run",
      env: "LEADER_ELECTION",
    }),
    "health-probe-bind-address": probesFlag({ default: defaults.probes }),
    namespace: text({ help: "Namespace of the lease", env: "POD_NAMESPACE", default: defaults.namespace }),
    identity: identityFlag,
    kubeconfig: kubeconfigFlag,
  };
}

/** Returns the configuration from the values of the flags. */
export function controllersConfig(
  values: ValuesOf<ControllersFlags>,
  { randomName }: Pick<ConfigSource, "randomName">,
): ControllersConfig {
  return {
    logLevel: values.debug ? "debug" : "info",
    leaderElection: values["leader-election"],
    probes: values["health-probe-bind-address"],
    namespace: values.namespace,
    identity: values.identity ?? randomName(),
    kubeconfig: values.kubeconfig,
  };
}
