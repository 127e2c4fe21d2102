/** Reads the environment of the broker. Credentials come from the environment only, never from the command line. */
import { klutchVersion } from "@klutch/api";
import { type Reach, reachFlags, reachOf } from "@klutch/data-servers";
import { type OnDemandService, onDemandServices, readOnDemandServices } from "@klutch/engines";
import * as flag from "@klutch/program";
import type { LogLevel } from "@klutch/telemetry";
import type { BackupConfig } from "./backups/worker.ts";

/** Configures the broker. */
export interface BrokerConfig {
  readonly host: string | undefined;
  readonly port: number;
  /** URL of a PostgreSQL superuser, whose server holds the instances. */
  readonly postgresUrl: string;
  readonly username: string;
  readonly password: string;
  /** Folder of the servers of MariaDB, key-value and object storage instances; without it only PostgreSQL is offered. */
  readonly dataFolder?: string | undefined;
  /** Services to offer besides, which need the folder, too. Default: none. */
  readonly services?: readonly OnDemandService[] | undefined;
  /** Addresses and ports at which applications reach these servers. Default: on loopback. */
  readonly reach?: Reach | undefined;
  /** Address in bindings for the server of `postgresUrl`. Default: that URL, without a certificate. */
  readonly published?: { readonly url: URL /** PEM. */; readonly authority: string } | undefined;
  /** Each binding's password is derived from it and a stored salt. */
  readonly secretKey: string;
  /** Undefined: there is no backup manager. */
  readonly backups?: BackupConfig | undefined;
  /** Milliseconds between two looks at sizes and sessions of instances. Default: 5 minutes. */
  readonly measureEveryMs?: number | undefined;
  /** Folder of `pg_dump` and `pg_restore`. Default: the newest that this machine has. */
  readonly postgresPrograms?: string | undefined;
  /** Folders of their libraries, as in `LD_LIBRARY_PATH`. Default: where the system looks. */
  readonly postgresLibraries?: string | undefined;
}

/** Configures the process. */
export interface BrokerProcessConfig extends Omit<BrokerConfig, "postgresUrl" | "published"> {
  readonly reach: Reach;
  /** The server that holds the instances: an existing one, or one that the broker runs itself. */
  readonly postgres: { readonly url: string } | { readonly folder: string };
  /** Address of /healthz, /readyz and /metrics. */
  readonly probes: flag.Address;
  readonly logLevel: LogLevel;
}

const leastKeyLength = 32;
const reach = reachFlags({ prefix: "BROKER" });
/** Help texts of the variables of the environment. */
const help = {
  LISTEN: "Where the broker is reached; port 0 chooses a free one",
  POSTGRES_URL: "URL of a superuser of the PostgreSQL server that holds the instances",
  POSTGRES_FOLDER:
    "Folder of a PostgreSQL server that the broker runs itself when BROKER_POSTGRES_URL names none",
  DATA_FOLDER:
    "Folder for the servers of MariaDB, key-value and object storage instances; without it they are not offered",
  SERVICES: `Services to offer besides, separated by commas: ${onDemandServices.join(", ")}`,
  USERNAME: "User of the broker's API",
  PASSWORD: "Password of that user",
  SECRET_KEY: `At least ${leastKeyLength} characters; passwords are derived from it`,
  MEASURE_INTERVAL: "Time between two looks at sizes and sessions of PostgreSQL and MariaDB instances",
  BACKUP_FOLDER: "Folder of the backups, of this broker only; without one there is no backup manager",
  BACKUP_RETENTION_DAYS: "Days that a backup is kept",
  BACKUP_MIN_COUNT: "Newest backups of each instance that are kept, however old they are",
  POSTGRES_PROGRAMS:
    "Folder of pg_dump and pg_restore. Default: the newest that this machine has or can fetch",
  POSTGRES_LIBRARIES:
    "Folders of the libraries of pg_dump and pg_restore, when the system does not look there",
};
/** Describes a variable that is no flag. */
const variable = (name: keyof typeof help) =>
  ({ help: help[name], env: `BROKER_${name}`, envOnly: true }) as const;
const secret = { secret: true } as const;
const secretKey = flag.text({ ...variable("SECRET_KEY"), ...secret });
const days = { least: 1, most: 36_500 };
const counts = { least: 0, most: 10_000 };

const flags = {
  listen: flag.address({ ...variable("LISTEN"), default: "127.0.0.1:0" }),
  "health-probe-bind-address": flag.probesFlag({ env: "BROKER_PROBE_LISTEN", default: "127.0.0.1:0" }),
  "postgres-url": flag.optionalText({ ...variable("POSTGRES_URL"), ...secret }),
  "postgres-folder": flag.optionalText(variable("POSTGRES_FOLDER")),
  "data-folder": flag.optionalText(variable("DATA_FOLDER")),
  services: {
    ...flag.optionalText(variable("SERVICES")),
    read: ([given = ""]: readonly string[]) => servicesIn(given),
  },
  ...reach,
  username: flag.text({ ...variable("USERNAME"), ...secret }),
  password: flag.text({ ...variable("PASSWORD"), ...secret }),
  "secret-key": { ...secretKey, read: (given: readonly string[]) => longEnough(secretKey.read(given)) },
  "measure-interval": flag.duration({ ...variable("MEASURE_INTERVAL"), default: "5m" }),
  "backup-folder": flag.optionalText(variable("BACKUP_FOLDER")),
  "backup-retention-days": flag.wholeNumber({ ...variable("BACKUP_RETENTION_DAYS"), default: "14" }, days),
  "backup-min-count": flag.wholeNumber({ ...variable("BACKUP_MIN_COUNT"), default: "3" }, counts),
  "postgres-programs": flag.optionalText(variable("POSTGRES_PROGRAMS")),
  "postgres-libraries": flag.optionalText(variable("POSTGRES_LIBRARIES")),
};

/** The broker and its environment. */
export const brokerProgram: flag.Program<BrokerProcessConfig> = {
  name: "broker",
  version: klutchVersion,
  summary: "the sandbox's service broker for PostgreSQL, MariaDB, a key-value store and object storage",
  flags,
  async readConfig(source) {
    const values = flag.requireFlags(flags, source);
    const { listen, username, password, "backup-folder": folder } = values;
    const retention = { days: values["backup-retention-days"], minCount: values["backup-min-count"] };
    return {
      ...listen,
      probes: values["health-probe-bind-address"],
      postgres: postgresOf(values),
      dataFolder: values["data-folder"],
      services: values.services,
      reach: await reachOf(reach, values),
      username,
      password,
      secretKey: values["secret-key"],
      measureEveryMs: values["measure-interval"],
      backups: folder === undefined ? undefined : { folder, retention },
      postgresPrograms: values["postgres-programs"],
      postgresLibraries: values["postgres-libraries"],
      logLevel: "info",
    };
  },
};

function servicesIn(given: string): readonly OnDemandService[] {
  try {
    return readOnDemandServices(given);
  } catch (cause) {
    throw new flag.FlagFault(cause instanceof Error ? cause.message : String(cause));
  }
}

function longEnough(key: string): string {
  if (key.length >= leastKeyLength) return key;
  throw new flag.FlagFault(`must have at least ${leastKeyLength} characters`);
}

function postgresOf(values: flag.ValuesOf<typeof flags>): BrokerProcessConfig["postgres"] {
  const { "postgres-url": url, "postgres-folder": folder } = values;
  if (url !== undefined) return { url };
  if (folder !== undefined) return { folder };
  const needed =
    "BROKER_POSTGRES_URL is required, or BROKER_POSTGRES_FOLDER: the server that holds the instances";
  throw new flag.ConfigError([needed]);
}
