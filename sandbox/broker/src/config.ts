/** Reads the environment of the broker. Credentials come from the environment only, never from the command line. */
import { klutchVersion } from "@klutch/api";
import { type Reach, reachFlags, reachOf } from "@klutch/data-servers";
import {
  type Address,
  address,
  ConfigError,
  type Flag,
  FlagFault,
  optionalText,
  probesFlag,
  type Program,
  requireFlags,
  text,
  type ValuesOf,
  wholeNumber,
} from "@klutch/kube-runtime";
import type { LogLevel } from "@klutch/telemetry";
import type { BackupConfig } from "./backups/start.ts";

/** How the broker runs. */
export interface BrokerConfig {
  readonly host: string | undefined;
  readonly port: number;
  /** URL of a PostgreSQL superuser, whose server holds the instances. */
  readonly postgresUrl: string;
  readonly username: string;
  readonly password: string;
  /** Folder of the servers of MariaDB and key-value instances; without it only PostgreSQL is offered. */
  readonly dataFolder?: string | undefined;
  /** Where these servers are reached. Default: on loopback. */
  readonly reach?: Reach | undefined;
  /** How bindings reach the server of `postgresUrl`. Default: by that URL, without a certificate. */
  readonly published?: PublishedServer | undefined;
  /** Each binding's password is derived from it and a stored salt. */
  readonly secretKey: string;
  /** Undefined: there is no backup manager. */
  readonly backups?: BackupConfig | undefined;
  /** Folder of `pg_dump` and `pg_restore`. Default: the newest that this machine has. */
  readonly postgresPrograms?: string | undefined;
  /** Folders of their libraries, as in `LD_LIBRARY_PATH`. Default: where the system looks. */
  readonly postgresLibraries?: string | undefined;
}

/** A server as applications know it. */
export interface PublishedServer {
  /** Its host and port. */
  readonly url: URL;
  /** PEM of the authority of its certificate. */
  readonly authority: string;
}

const leastKeyLength = 32;
const reach = reachFlags({ prefix: "BROKER" });
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
  "postgres-url": optionalText({
    help: "URL of a superuser of the PostgreSQL server that holds the instances",
    env: "BROKER_POSTGRES_URL",
    envOnly: true,
    secret: true,
  }),
  "postgres-folder": optionalText({
    help: "Folder of a PostgreSQL server that the broker runs itself when BROKER_POSTGRES_URL names none",
    env: "BROKER_POSTGRES_FOLDER",
    envOnly: true,
  }),
  "data-folder": optionalText({
    help: "Folder for the servers of MariaDB and key-value instances; without it they are not offered",
    env: "BROKER_DATA_FOLDER",
    envOnly: true,
  }),
  ...reach,
  username: credential("BROKER_USERNAME", "User of the broker's API"),
  password: credential("BROKER_PASSWORD", "Password of that user"),
  "secret-key": longEnough(
    credential(
      "BROKER_SECRET_KEY",
      `At least ${leastKeyLength} characters, from which passwords are derived`,
    ),
  ),
  "backup-folder": optionalText({
    help: "Folder of the backups, of this broker only; without one there is no backup manager",
    env: "BROKER_BACKUP_FOLDER",
    envOnly: true,
  }),
  "backup-retention-days": wholeNumber(
    {
      help: "Days that a backup is kept",
      env: "BROKER_BACKUP_RETENTION_DAYS",
      envOnly: true,
      default: "14",
    },
    { least: 1, most: 36_500 },
  ),
  "backup-min-count": wholeNumber(
    {
      help: "Newest backups of each instance that are kept, however old they are",
      env: "BROKER_BACKUP_MIN_COUNT",
      envOnly: true,
      default: "3",
    },
    { least: 0, most: 10_000 },
  ),
  "postgres-programs": optionalText({
    help: "Folder of pg_dump and pg_restore. Default: the newest that this machine has or can fetch",
    env: "BROKER_POSTGRES_PROGRAMS",
    envOnly: true,
  }),
  "postgres-libraries": optionalText({
    help: "Folders of the libraries of pg_dump and pg_restore, when the system does not look there",
    env: "BROKER_POSTGRES_LIBRARIES",
    envOnly: true,
  }),
};

/** How the process runs. */
export interface BrokerProcessConfig extends Omit<BrokerConfig, "postgresUrl" | "published"> {
  readonly reach: Reach;
  /** The server that holds the instances: an existing one, or one that the broker runs itself. */
  readonly postgres: { readonly url: string } | { readonly folder: string };
  /** Where /healthz, /readyz and /metrics are served. */
  readonly probes: Address;
  readonly logLevel: LogLevel;
}

/** The broker and its environment. */
export const brokerProgram: Program<BrokerProcessConfig> = {
  name: "broker",
  version: klutchVersion,
  summary: "the sandbox's service broker for PostgreSQL, MariaDB and a key-value store",
  flags,
  async readConfig(source) {
    const values = requireFlags(flags, source);
    return {
      ...values.listen,
      probes: values["health-probe-bind-address"],
      postgres: postgresOf(values),
      dataFolder: values["data-folder"],
      reach: await reachOf(reach, values),
      username: values.username,
      password: values.password,
      secretKey: values["secret-key"],
      backups: backupsOf(values),
      postgresPrograms: values["postgres-programs"],
      postgresLibraries: values["postgres-libraries"],
      logLevel: "info",
    };
  },
};

function postgresOf(values: ValuesOf<typeof flags>): BrokerProcessConfig["postgres"] {
  const { "postgres-url": url, "postgres-folder": folder } = values;
  if (url !== undefined) return { url };
  if (folder !== undefined) return { folder };
  throw new ConfigError([
    "BROKER_POSTGRES_URL is required, or BROKER_POSTGRES_FOLDER: the server that holds the instances",
  ]);
}

function backupsOf(values: ValuesOf<typeof flags>): BackupConfig | undefined {
  const folder = values["backup-folder"];
  if (folder === undefined) return undefined;
  return {
    folder,
    retention: { days: values["backup-retention-days"], minCount: values["backup-min-count"] },
  };
}

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
