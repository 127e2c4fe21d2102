/** Flags of the gateway. */
import { klutchVersion } from "@klutch/api";
import { CertificateError, readServedCertificate, type ServedCertificate } from "@klutch/kube-runtime";
import {
  type Address,
  address,
  ConfigError,
  duration,
  kubeconfigFlag,
  probesFlag,
  type Program,
  requireFlags,
  text,
  toggle,
  wholeNumber,
} from "@klutch/program";
import type { LogLevel } from "@klutch/telemetry";
import type { TenantLimits } from "./tenant-limits.ts";

/** Configuration of the gateway. */
export interface GatewayConfig {
  readonly kubeconfig: string | undefined;
  readonly listen: Address;
  /** Address that serves /healthz, /readyz and /metrics. */
  readonly probes: Address;
  readonly tls: ServedCertificate;
  /** Bytes of the latest events of each kind. */
  readonly historyBytes: number;
  readonly historyMs: number;
  /** Limits of each account of an app cluster. */
  readonly limits: Required<TenantLimits>;
  readonly askEveryMs: number;
  readonly logLevel: LogLevel;
}

const flags = {
  kubeconfig: kubeconfigFlag,
  "listen-address": address({ help: "Address to serve app clusters on, over TLS", default: ":9443" }),
  "tls-cert-file": text({
    value: "path",
    help: "File with the TLS certificate. Changes are picked up while the gateway runs",
  }),
  "tls-key-file": text({ value: "path", help: "File with the TLS private key" }),
  "health-probe-bind-address": probesFlag({ default: ":8081" }),
  "history-mebibytes": wholeNumber(
    { help: "Latest events of each kind that are kept for watches which go on, in MiB", default: "64" },
    { least: 1, most: 4096 },
  ),
  "history-age": duration({
    help: "Age at which such events are dropped although there is room",
    default: "5m",
  }),
  "max-watches": wholeNumber(
    { help: "Watches that one app cluster's account may have open", default: "2000" },
    { least: 1 },
  ),
  "max-passed-watches": wholeNumber(
    { help: "Watches among them that the API server answers, where each costs memory", default: "500" },
    { least: 1 },
  ),
  "max-requests": wholeNumber(
    { help: "Other requests of one app cluster's account that may be under way", default: "100" },
    { least: 1 },
  ),
  "access-interval": duration({
    help: "Interval of the questions to the API server whether an open watch is still allowed",
    default: "60s",
  }),
  debug: toggle({ help: "Enable debug logs" }),
};

/** The gateway and its flags. */
export const gatewayProgram: Program<GatewayConfig> = {
  name: "klutch-gateway",
  version: klutchVersion,
  summary: "serves the watches of all app clusters from one watch of each kind",
  flags,
  async readConfig(source) {
    const values = requireFlags(flags, source);
    const [interval, age] = [values["access-interval"], values["history-age"]];
    const faults = [
      ...(interval < 1_000 ? [`--access-interval: ${interval} ms must be 1s or more`] : []),
      ...(age < 75_000 ? [`--history-age: ${age} ms must be 75s or more, as API servers keep events`] : []),
    ];
    if (faults.length > 0) throw new ConfigError(faults);
    return {
      kubeconfig: values.kubeconfig,
      listen: values["listen-address"],
      probes: values["health-probe-bind-address"],
      tls: await certificateOf({ cert: values["tls-cert-file"], key: values["tls-key-file"] }),
      historyBytes: values["history-mebibytes"] * 1024 * 1024,
      historyMs: values["history-age"],
      limits: {
        mostWatches: values["max-watches"],
        mostPassedWatches: values["max-passed-watches"],
        mostRequests: values["max-requests"],
      },
      askEveryMs: values["access-interval"],
      logLevel: values.debug ? "debug" : "info",
    };
  },
};

async function certificateOf(files: {
  readonly cert: string;
  readonly key: string;
}): Promise<ServedCertificate> {
  try {
    return await readServedCertificate(files);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new ConfigError([`--tls-${error.file}-file: ${error.message}`]);
  }
}
