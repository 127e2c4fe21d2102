/** Flags of the operator. */
import { klutchVersion } from "@klutch/api";
import {
  type Address,
  type ConfigSource,
  kubeconfigFlag,
  probesFlag,
  type Program,
  requireFlags,
  text,
  toggle,
} from "@klutch/kube-runtime";
import type { LogLevel } from "@klutch/telemetry";

/** How the operator runs. */
export interface OperatorConfig {
  readonly logLevel: LogLevel;
  /** Holds the servers' data and the dumps. One operator works in it. */
  readonly folder: string;
  readonly probes: Address;
  readonly kubeconfig: string | undefined;
}

const flags = {
  debug: toggle({ short: "d", help: "Log more" }),
  "data-folder": text({
    value: "path",
    help: "Folder of the servers and the backups, of one operator only",
    default: "/var/lib/a8s-operator",
  }),
  "health-probe-bind-address": probesFlag({ default: "127.0.0.1:0" }),
  kubeconfig: kubeconfigFlag,
};

/** The operator and its flags. */
export const operatorProgram: Program<OperatorConfig> = {
  name: "a8s-operator",
  version: klutchVersion,
  summary: "runs PostgreSQL servers on this machine from the kinds of a8s",
  flags,
  readConfig(source: ConfigSource) {
    const values = requireFlags(flags, source);
    return {
      logLevel: values.debug ? "debug" : "info",
      folder: values["data-folder"],
      probes: values["health-probe-bind-address"],
      kubeconfig: values.kubeconfig,
    };
  },
};
