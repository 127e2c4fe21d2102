/** MariaDB, a server for each instance. SQL goes through MariaDB's own client on the server's socket. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import * as dataServers from "@klutch/data-servers";
import { type DebianPrograms, unprivileged } from "@klutch/engines";
import * as sql from "./mariadb-sql.ts";
import {
  adminUser,
  type Launch,
  type Place,
  type ServerKind,
  type ServerSpec,
  type Session,
} from "./driver.ts";

/** System tables in the order in which the server's own installer makes them. */
const systemTables = [
  "mysql_system_tables.sql",
  "mysql_performance_tables.sql",
  "mysql_system_tables_data.sql",
  "maria_add_gis_sp_bootstrap.sql",
  "mysql_sys_schema.sql",
];
/** Names in `place.data`. Every folder in `database` would be a database. */
const folders = { database: "db", temporary: "tmp" } as const;
/** Relative to `database`, because a full path may be too long for a socket. */
const socketPath = "../socket";
/** Statements in `home` that the server runs at each start. */
const initFile = "init.sql";
/** The server answers so while every session is taken. */
const tooManyConnections = /ERROR (?:1040|1203) /;
const tries = 40;
const triesMs = 500;

/** Returns the kind that runs these programs. */
export function mariadbKind(programs: DebianPrograms): ServerKind {
  return {
    type: "mariadb",
    program: "MariaDB server",
    parameters: sql.mariadbParameters,
    initialise: (place) => initialise(place, programs),
    launch: (place, spec) => launch(place, spec, programs),
    open: (place, spec) => open(place, spec, programs),
    credentials({ database, port, reach: { host } }, { username, password }, authority) {
      const uri = `mysql://${username}:${password}@${dataServers.hostInUrl(host)}:${port}/${database}`;
      return { cacrt: authority, host, hosts: [host], name: database, password, port, uri, username };
    },
  };
}

async function initialise(place: Place, programs: DebianPrograms): Promise<void> {
  for (const folder of Object.values(folders)) await dataServers.makeServerFolder(join(place.data, folder));
  const share = join(programs.root, "usr", "share", "mysql");
  const scripts = await Promise.all(systemTables.map((file) => readFile(join(share, file), "utf8")));
  const input = [
    "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\nset @current_hostname='localhost';\n",
    ...scripts,
    // Accounts without a password.
    "delete from global_priv where User in ('root', '');\ndelete from proxies_priv;\n",
  ].join("\n");
  await dataServers.runProgram(
    {
      program: programs.path("mariadbd"),
      args: [...baseSettings(place, programs), "--bootstrap"],
      cwd: place.data,
      env: { ...programs.env, PATH: "/usr/bin:/bin" },
      ...unprivileged,
    },
    { from: Readable.from([input]) },
  );
}

async function launch(place: Place, spec: ServerSpec, programs: DebianPrograms): Promise<Launch> {
  await dataServers.writeForServer(join(place.home, initFile), sql.initStatements(place.adminPassword));
  return {
    command: programs.path("mariadbd"),
    args: [...baseSettings(place, programs), ...serverSettings(place, spec)],
    env: { ...programs.env, MALLOC_ARENA_MAX: "2" },
    // It listens on its socket before it runs its init file, and greets clients after that.
    ready: async () => (await runSql(place, programs, ["SELECT 1"])).length === 1,
  };
}

async function open(place: Place, spec: ServerSpec, programs: DebianPrograms): Promise<Session> {
  const { database } = place;
  const run = (...statements: readonly string[]): ReturnType<typeof runSql> =>
    runSql(place, programs, statements);
  const first = async (statement: string): Promise<readonly string[]> =>
    (await run(statement)).map(([value = ""]) => value);
  let isFull = false;
  // The server counts from 0 after each start.
  const epoch = randomUUID();
  const rights = (full = isFull): { database: string; spec: ServerSpec; isFull: boolean } => ({
    database,
    spec,
    isFull: full,
  });
  const align = async (full = isFull): Promise<readonly string[]> => {
    const logins = await first(sql.listLogins);
    await run(...logins.flatMap((login) => sql.giveRights(login, rights(full))));
    return logins;
  };
  await run(...sql.databasesOf(rights()).map((each) => `CREATE DATABASE IF NOT EXISTS ${sql.name(each)}`));
  await align();
  return {
    run,
    async ensureLogin(login) {
      await run(...sql.makeLogin(login, rights()));
    },
    async dropLogin(login) {
      if (!(await first(sql.listLogins)).includes(login)) return;
      await run(`ALTER USER ${sql.account(login)} ACCOUNT LOCK`, sql.endSessions(login));
      // Views and routines that act in its name need the login; it is locked, so no client can use it.
      if (!(await first(sql.listDefiners)).includes(`${login}@%`))
        await run(`DROP USER ${sql.account(login)}`);
    },
    async setFull(full) {
      if (full === isFull) return;
      // A session that is in a database keeps the rights with which it entered.
      await run(...(await align(full)).map(sql.endSessions));
      // Only now: if the server does not answer, the next measurement tells it again.
      isFull = full;
    },
    async activity() {
      const [bytes, sessions, open] = (await run(sql.activity))[0] ?? [];
      return { bytes: Number(bytes), sessions: Number(sessions), epoch, isOpen: Number(open) > 0 };
    },
    async dump(to, signal) {
      const databases = (await first("SHOW DATABASES")).filter(sql.isTenantsDatabase);
      const what = ["--single-transaction", "--skip-lock-tables", "--routines", "--triggers", "--hex-blob"];
      const how = ["--no-tablespaces", "--skip-comments", "--max-allowed-packet=64M", "--databases", "--"];
      const args = [...what, ...how, ...databases];
      await dataServers.runProgram({ ...client(place, programs, "mariadb-dump", args), signal }, { to });
    },
    async fill({ open: openDump, signal }) {
      // The sandbox of the client keeps a dump from running programs or reading files.
      const args = ["--batch", "--sandbox"];
      const filling = { ...client(place, programs, "mariadb", args), signal };
      await dataServers.runProgram(filling, { from: openDump() });
      for (const definer of await first(sql.listDefiners)) {
        const login = definer.replace(/@%$/, "");
        if (sql.loginName.test(login)) await run(...sql.makeClosedLogin(login, rights()));
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Runs the statements in one session. They go in by standard input, because every user can read command lines. */
async function runSql(place: Place, programs: DebianPrograms, statements: readonly string[]) {
  const run = client(place, programs, "mariadb", ["--batch", "--skip-column-names"]);
  for (let attempt = 1; ; attempt++) {
    try {
      const to = new PassThrough();
      const [output] = await Promise.all([
        text(to),
        dataServers.runProgram(run, {
          from: Readable.from(statements.map((statement) => `${statement};\n`)),
          to,
        }),
      ]);
      const lines = output.split("\n").slice(0, -1);
      return lines.map((line) => line.split("\t"));
    } catch (error) {
      const isBusy = error instanceof dataServers.ProgramError && tooManyConnections.test(error.message);
      if (!isBusy || attempt === tries) throw error;
      await sleep(triesMs);
    }
  }
}

/** Describes a run of one of MariaDB's clients as the account of the broker. */
function client(
  { data, adminPassword }: Place,
  programs: DebianPrograms,
  program: "mariadb" | "mariadb-dump",
  args: readonly string[],
): dataServers.ProgramRun {
  const charsets = `--character-sets-dir=${join(programs.root, "usr", "share", "mysql", "charsets")}`;
  const connection = ["--no-defaults", `--socket=${socketPath}`, `--user=${adminUser}`, "--skip-ssl"];
  return {
    program: programs.path(program),
    args: [...connection, charsets, "--default-character-set=utf8mb4", ...args],
    cwd: join(data, folders.database),
    env: { ...programs.env, PATH: "/usr/bin:/bin", MYSQL_PWD: adminPassword },
  };
}

/** Returns the settings that every use of the server's program needs. */
function baseSettings({ data }: Place, { root }: DebianPrograms): readonly string[] {
  const usr = join(root, "usr");
  const share = join(usr, "share", "mysql");
  return [
    "--no-defaults",
    `--basedir=${usr}`,
    `--lc-messages-dir=${share}`,
    `--character-sets-dir=${join(share, "charsets")}`,
    `--plugin-dir=${join(usr, "lib", "mysql", "plugin")}`,
    `--datadir=${join(data, folders.database)}`,
    `--tmpdir=${join(data, folders.temporary)}`,
    "--character-set-server=utf8mb4",
    "--innodb-log-file-size=16M",
    // The kernel has few of them, and there may be many servers.
    "--innodb-use-native-aio=OFF",
    "--innodb-buffer-pool-size=16M",
    "--log-warnings=1",
  ];
}

function serverSettings({ data, home, tls, port, reach }: Place, spec: ServerSpec): readonly string[] {
  const { connectionLimit, memoryMiB, parameters, tlsOnly } = spec;
  const days = parameters["binlog_expire_days"];
  const log = ["--log-bin=binlog", "--log-bin-trust-function-creators=ON", "--server-id=1"];
  return [
    `--socket=${socketPath}`,
    `--pid-file=${join(data, "pid")}`,
    `--init-file=${join(home, initFile)}`,
    ...(port === undefined ? ["--skip-networking"] : [`--port=${port}`, `--bind-address=${reach.listen}`]),
    "--skip-name-resolve",
    `--max-connections=${Math.max(connectionLimit, 10)}`,
    "--connect-timeout=5",
    // Logins reach no files of the machine.
    `--secure-file-priv=${join(data, folders.temporary)}`,
    "--local-infile=OFF",
    "--skip-symbolic-links",
    "--event-scheduler=DISABLED",
    // Counts the sessions of each user.
    "--userstat=ON",
    // Only tables of this engine can be dumped as of one moment while they change.
    "--enforce-storage-engine=InnoDB",
    `--innodb-buffer-pool-size=${Math.floor(memoryMiB / 8)}M`,
    `--max-session-mem-used=${Math.floor(memoryMiB / 4) * 1024 * 1024}`,
    `--performance-schema=${sql.seesPerformance(parameters) ? "ON" : "OFF"}`,
    "--key-buffer-size=4M",
    "--aria-pagecache-buffer-size=8M",
    `--ssl-ca=${tls.authority}`,
    `--ssl-cert=${tls.certificate}`,
    `--ssl-key=${tls.key}`,
    "--tls-version=TLSv1.2,TLSv1.3",
    `--require-secure-transport=${tlsOnly ? "ON" : "OFF"}`,
    ...(typeof days === "number" ? [...log, `--expire-logs-days=${days}`, "--max-binlog-size=16M"] : []),
  ];
}
