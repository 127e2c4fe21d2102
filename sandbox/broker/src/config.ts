/** Reads the environment of the broker. Credentials come from the environment only, never from the command line. */
import { klutchVersion } from "@klutch/api";
import { type Reach, reachFlags, reachOf } from "@klutch/data-servers";
import {
  type Address,
  address,
  ConfigError,
  FlagFault,
  optionalText,
  probesFlag,
  type Program,
  requireFlags,
  text,
  type ValuesOf,
  wholeNumber,
} from "@klutch/program";
import type { LogLevel } from "@klutch/telemetry";
import type { BackupConfig } from "./backups/worker.ts";

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
  readonly published?: { readonly url: URL /** PEM. */; readonly authority: string } | undefined;
  /** Each binding's password is derived from it and a stored salt. */
  readonly secretKey: string;
  /** Undefined: there is no backup manager. */
  readonly backups?: BackupConfig | undefined;
  /** Folder of `pg_dump` and `pg_restore`. Default: the newest that this machine has. */
  readonly postgresPrograms?: string | undefined;
  /** Folders of their libraries, as in `LD_LIBRARY_PATH`. Default: where the system looks. */
  readonly postgresLibraries?: string | undefined;
}

const leastKeyLength = 32;
const reach = reachFlags({ prefix: "BROKER" });
/** Describes a variable of the environment that is no flag. */
const variable = (name: string, help: string): { help: string; env: string; envOnly: true } => ({
  help,
  env: `BROKER_${name}`,
  envOnly: true,
});
const secret = { secret: true } as const;
const secretKey = text({
  ...variable("SECRET_KEY", `At least ${leastKeyLength} characters; passwords are derived from it`),
  ...secret,
});
const texts = {
  url: "URL of a superuser of the PostgreSQL server that holds the instances",
  folder: "Folder of a PostgreSQL server that the broker runs itself when BROKER_POSTGRES_URL names none",
  data: "Folder for the servers of MariaDB and key-value instances; without it they are not offered",
  backups: "Folder of the backups, of this broker only; without one there is no backup manager",
  least: "Newest backups of each instance that are kept, however old they are",
  programs: "Folder of pg_dump and pg_restore. Default: the newest that this machine has or can fetch",
  libraries: "Folders of the libraries of pg_dump and pg_restore, when the system does not look there",
};

const flags = {
  listen: address({
    ...variable("LISTEN", "Where the broker is reached; port 0 chooses a free one"),
    default: "127.0.0.1:0",
  }),
  "health-probe-bind-address": probesFlag({ env: "BROKER_PROBE_LISTEN", default: "127.0.0.1:0" }),
  "postgres-url": optionalText({ ...variable("POSTGRES_URL", texts.url), ...secret }),
  "postgres-folder": optionalText(variable("POSTGRES_FOLDER", texts.folder)),
  "data-folder": optionalText(variable("DATA_FOLDER", texts.data)),
  ...reach,
  username: text({ ...variable("USERNAME", "User of the broker's API"), ...secret }),
  password: text({ ...variable("PASSWORD", "Password of that user"), ...secret }),
  "secret-key": {
    ...secretKey,
    read(given: readonly string[]): string {
      const key = secretKey.read(given);
      if (key.length >= leastKeyLength) return key;
      throw new FlagFault(`must have at least ${leastKeyLength} characters`);
    },
  },
  "backup-folder": optionalText(variable("BACKUP_FOLDER", texts.backups)),
  "backup-retention-days": wholeNumber(
    { ...variable("BACKUP_RETENTION_DAYS", "Days that a backup is kept"), default: "14" },
    { least: 1, most: 36_500 },
  ),
  "backup-min-count": wholeNumber(
    { ...variable("BACKUP_MIN_COUNT", texts.least), default: "3" },
    { least: 0, most: 10_000 },
  ),
  "postgres-programs": optionalText(variable("POSTGRES_PROGRAMS", texts.programs)),
  "postgres-libraries": optionalText(variable("POSTGRES_LIBRARIES", texts.libraries)),
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
    const folder = values["backup-folder"];
    return {
      ...values.listen,
      probes: values["health-probe-bind-address"],
      postgres: postgresOf(values),
      dataFolder: values["data-folder"],
      reach: await reachOf(reach, values),
      username: values.username,
      password: values.password,
      secretKey: values["secret-key"],
      backups:
        folder === undefined
          ? undefined
          : {
              folder,
              retention: { days: values["backup-retention-days"], minCount: values["backup-min-count"] },
            },
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
