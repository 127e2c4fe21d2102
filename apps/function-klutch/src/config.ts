/** Flags and environment of the function. */
import { parseArgs } from "node:util";

/** How the function runs. */
export interface FunctionConfig {
  readonly host: string;
  readonly port: number;
  readonly certificatesFolder: string;
  readonly verbose: boolean;
}

/** Reads the command line and the environment. Throws an error that names every fault. */
export function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): FunctionConfig {
  const { values } = parseArgs({
    args: [...args],
    options: {
      address: { type: "string", default: "0.0.0.0:9443" },
      "tls-certs-dir": { type: "string" },
      debug: { type: "boolean", short: "d", default: false },
    },
  });
  const faults: string[] = [];
  const certificatesFolder = values["tls-certs-dir"] ?? env["TLS_SERVER_CERTS_DIR"] ?? "";
  if (certificatesFolder === "")
    faults.push(
      "--tls-certs-dir (or TLS_SERVER_CERTS_DIR): the folder with tls.crt, tls.key and ca.crt is needed",
    );
  const address = /^(?<host>.*):(?<port>\d+)$/.exec(values.address);
  if (address === null) faults.push(`--address: ${JSON.stringify(values.address)} is not host:port`);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return {
    host: address?.groups?.["host"] ?? "",
    port: Number(address?.groups?.["port"]),
    certificatesFolder,
    verbose: values.debug,
  };
}
