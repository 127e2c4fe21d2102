/** Environment of the broker. Credentials come only from the environment, never from the command line. */

/** How the broker runs. */
export interface BrokerConfig {
  readonly host: string;
  readonly port: number;
  /** URL of a PostgreSQL superuser, whose server holds the instances. */
  readonly postgresUrl: string;
  readonly username: string;
  readonly password: string;
  /** From it and a stored salt each binding's password is derived. */
  readonly secretKey: string;
}

const required = ["BROKER_POSTGRES_URL", "BROKER_USERNAME", "BROKER_PASSWORD", "BROKER_SECRET_KEY"] as const;

/** Reads the environment. Throws an error that names every variable that is missing or wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): BrokerConfig {
  const faults: string[] = required
    .filter((name) => (env[name] ?? "") === "")
    .map((name) => `${name} is not set`);
  const listen = /^(?<host>.*):(?<port>\d+)$/.exec(env["BROKER_LISTEN"] ?? "127.0.0.1:0");
  if (listen === null) faults.push("BROKER_LISTEN is not host:port");
  if ((env["BROKER_SECRET_KEY"] ?? "").length < 32)
    faults.push("BROKER_SECRET_KEY must have at least 32 characters");
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return {
    host: listen?.groups?.["host"] ?? "127.0.0.1",
    port: Number(listen?.groups?.["port"]),
    postgresUrl: env["BROKER_POSTGRES_URL"] ?? "",
    username: env["BROKER_USERNAME"] ?? "",
    password: env["BROKER_PASSWORD"] ?? "",
    secretKey: env["BROKER_SECRET_KEY"] ?? "",
  };
}
