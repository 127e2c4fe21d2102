/** The command line of a MariaDB server. Pure; nothing is read from the machine's own configuration. */
import { join } from "node:path";
import type { Place, ServerSpec } from "../kind.ts";
import { seesPerformance } from "./parameters.ts";

/** Where the server's programs keep their own files. */
export interface Installation {
  /** Folder that holds `usr`. */
  readonly root: string;
}

/** Names in a place's `data` folder. Each folder in `database` would be a database. */
export const folders = { database: "db", temporary: "tmp", nobodysFiles: "files" } as const;
/** As the server and its clients see it from `database`: a path in full may be too long for a socket. */
export const socketName = "socket";
export const socketPath: string = `../${socketName}`;
/** In `home`: statements that the server runs at each start, before it accepts anybody. */
export const initFile = "init.sql";

/** Every use of the server's program needs these. */
export function baseSettings(place: Place, { root }: Installation): readonly string[] {
  const share = join(root, "usr", "share", "mysql");
  return [
    "--no-defaults",
    `--basedir=${join(root, "usr")}`,
    `--lc-messages-dir=${share}`,
    `--character-sets-dir=${join(share, "charsets")}`,
    `--plugin-dir=${join(root, "usr", "lib", "mysql", "plugin")}`,
    `--datadir=${join(place.data, folders.database)}`,
    `--tmpdir=${join(place.data, folders.temporary)}`,
    "--character-set-server=utf8mb4",
    "--innodb-log-file-size=16M",
    // The kernel has few of them, and there may be many servers.
    "--innodb-use-native-aio=OFF",
    "--innodb-buffer-pool-size=16M",
    "--log-warnings=1",
  ];
}

/** All settings of the server that runs. */
export function serverSettings(
  place: Place,
  spec: ServerSpec,
  installation: Installation,
): readonly string[] {
  const poolMiB = Math.floor(spec.memoryMiB / 8);
  return [
    ...baseSettings(place, installation),
    `--innodb-buffer-pool-size=${poolMiB}M`,
    `--socket=${socketPath}`,
    `--pid-file=${join(place.data, "pid")}`,
    `--init-file=${join(place.home, initFile)}`,
    ...(place.port === undefined
      ? ["--skip-networking"]
      : [`--port=${place.port}`, `--bind-address=${place.reach.listen}`]),
    "--skip-name-resolve",
    `--max-connections=${Math.max(spec.connections, 10)}`,
    "--connect-timeout=5",
    ...confinement(place),
    ...memorySettings(spec),
    ...tlsSettings(place, spec),
    ...binaryLog(spec),
  ];
}

/** What a tenant could reach beyond its data. */
function confinement(place: Place): readonly string[] {
  return [
    `--secure-file-priv=${join(place.data, folders.nobodysFiles)}`,
    "--local-infile=OFF",
    "--skip-symbolic-links",
    "--event-scheduler=DISABLED",
    // Only tables of this engine can be dumped as of one moment while they change.
    "--enforce-storage-engine=InnoDB",
    "--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:256M",
    "--loose-feedback=OFF",
  ];
}

function memorySettings({ memoryMiB, parameters }: ServerSpec): readonly string[] {
  return [
    `--performance-schema=${seesPerformance(parameters) ? "ON" : "OFF"}`,
    "--performance-schema-max-table-instances=200",
    "--performance-schema-max-thread-instances=80",
    "--performance-schema-digests-size=200",
    "--performance-schema-events-statements-history-long-size=100",
    "--query-cache-type=OFF",
    "--query-cache-size=0",
    "--key-buffer-size=4M",
    "--aria-pagecache-buffer-size=8M",
    "--table-open-cache=400",
    `--max-session-mem-used=${Math.floor(memoryMiB / 4) * 1024 * 1024}`,
    "--max-allowed-packet=16M",
    "--loose-innodb-buffer-pool-size-max=2G",
  ];
}

function tlsSettings({ tls }: Place, { tlsOnly }: ServerSpec): readonly string[] {
  return [
    `--ssl-ca=${tls.authority}`,
    `--ssl-cert=${tls.certificate}`,
    `--ssl-key=${tls.key}`,
    "--tls-version=TLSv1.2,TLSv1.3",
    `--require-secure-transport=${tlsOnly ? "ON" : "OFF"}`,
  ];
}

/** Only for those who ask for it: it takes of the plan's disk. */
function binaryLog({ parameters }: ServerSpec): readonly string[] {
  const days = parameters["binlog_expire_days"];
  if (typeof days !== "number") return [];
  // A server with binary logs lets only those in charge make functions, unless it is told otherwise.
  const trust = "--log-bin-trust-function-creators=ON";
  return ["--log-bin=binlog", trust, "--server-id=1", `--expire-logs-days=${days}`, "--max-binlog-size=16M"];
}
