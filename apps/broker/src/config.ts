/** Environment of the broker. Credentials come only from the environment, never from the command line. */
import { klutchVersion } from "@klutch/api";
import {
  type Address,
  address,
  type Flag,
  FlagFault,
  probesFlag,
  type Program,
  requireFlags,
  text,
} from "@klutch/kube-runtime";
import type { LogLevel } from "@klutch/telemetry";

/** How the broker runs. */
export interface BrokerConfig {
  readonly host: string | undefined;
  readonly port: number;
  /** URL of a PostgreSQL superuser, whose server holds the instances. */
  readonly postgresUrl: string;
  readonly username: string;
  readonly password: string;
  /** From it and a stored salt each binding's password is derived. */
  readonly secretKey: string;
}

const leastKeyLength = 32;
const credential = (env: string, help: string): Flag<string> =>
  text({ help, env, envOnly: true, secret: true });

const flags = {
  listen: address({
    help: "Where the broker is reached; port 0 chooses a free one",
    env: "BROKER_LISTEN",
    envOnly: true,
    default: "127.0.0.1:0",
  }),
  "health-probe-bind-address": probesFlag({ env: "BROKER_PROBE_LISTEN", default: "127.0.0.1:0" }),
  "postgres-url": credential(
    "BROKER_POSTGRES_URL",
    "URL of a superuser of the PostgreSQL server that holds the instances",
  ),
  username: credential("BROKER_USERNAME", "User of the broker's API"),
  password: credential("BROKER_PASSWORD", "Password of that user"),
  "secret-key": longEnough(
    credential(
      "BROKER_SECRET_KEY",
      `At least ${leastKeyLength} characters, from which passwords are derived`,
    ),
  ),
};

/** How the process runs. */
export interface BrokerProcessConfig extends BrokerConfig {
  /** Where /healthz, /readyz and /metrics are served. */
  readonly probes: Address;
  readonly logLevel: LogLevel;
}

/** The broker and its environment. */
export const brokerProgram: Program<BrokerProcessConfig> = {
  name: "broker",
  version: klutchVersion,
  summary: "the sandbox's service broker for PostgreSQL",
  flags,
  readConfig(source) {
    const values = requireFlags(flags, source);
    return {
      ...values.listen,
      probes: values["health-probe-bind-address"],
      postgresUrl: values["postgres-url"],
      username: values.username,
      password: values.password,
      secretKey: values["secret-key"],
      logLevel: "info",
    };
  },
};

function longEnough(flag: Flag<string>): Flag<string> {
  return {
    ...flag,
    read(texts) {
      const key = flag.read(texts);
      if (key.length < leastKeyLength) throw new FlagFault(`must have at least ${leastKeyLength} characters`);
      return key;
    },
  };
}
