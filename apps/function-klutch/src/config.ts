/** Flags and environment of the composition function. */
import { klutchVersion } from "@klutch/api";
import { type Address, address, probesFlag, type Program, requireFlags, text, toggle } from "@klutch/program";
import type { LogLevel } from "@klutch/telemetry";

/** Configuration of the function. */
export interface FunctionConfig {
  readonly listen: Address;
  /** Address that serves /healthz, /readyz and /metrics. */
  readonly probes: Address;
  readonly certificatesFolder: string;
  readonly logLevel: LogLevel;
}

const flags = {
  address: address({ help: "Address to serve the function on, for Crossplane", default: "0.0.0.0:9443" }),
  "tls-certs-dir": text({
    value: "path",
    help: "Directory with tls.crt, tls.key and ca.crt",
    env: "TLS_SERVER_CERTS_DIR",
  }),
  "health-probe-bind-address": probesFlag({ default: ":8080" }),
  debug: toggle({ short: "d", help: "Enable debug logs" }),
};

/** The function and its flags. */
export const functionProgram: Program<FunctionConfig> = {
  name: "function-klutch",
  version: klutchVersion,
  summary: "composes the managed resources of the data services",
  flags,
  readConfig(source) {
    const values = requireFlags(flags, source);
    return {
      listen: values.address,
      probes: values["health-probe-bind-address"],
      certificatesFolder: values["tls-certs-dir"],
      logLevel: values.debug ? "debug" : "info",
    };
  },
};
