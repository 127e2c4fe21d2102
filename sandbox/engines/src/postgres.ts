/** PostgreSQL with its own data folder, and standbys: copies that follow a server by streaming replication, and answer questions. */
import { chown, mkdtempDisposable, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataHome, unprivileged, writeOwned } from "./data-home.ts";
import { EngineError, exists, inheritedEnvironment, run, wordsOf } from "./environment.ts";
import { reservePorts } from "./ports.ts";
import { type PostgresPrograms, resolvePostgres } from "./postgres-programs.ts";
import { type RunningProcess, startProcess } from "./process.ts";

/** A server that runs. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Connection URL of the superuser by loopback, with its password. */
  readonly url: string;
  /** Folder of the server's own `pg_dump` and `pg_restore`; undefined when the server came without them. */
  readonly dumpPrograms: string | undefined;
  /** `LD_LIBRARY_PATH` of these; undefined when the system finds their libraries itself. */
  readonly dumpLibraries: string | undefined;
  /** Programs of the server; a standby needs the same. */
  readonly programs: PostgresPrograms;
  readonly process: RunningProcess;
}

/** A way in from other machines. */
export interface OutsideDoor {
  /** Address of this machine; 0.0.0.0 or :: mean all of them. */
  readonly address: string;
  /** Logins that get in by loopback only. The superuser is always one of them. */
  readonly insiders?: readonly string[] | undefined;
}

/** The server's own account, with which it is made and looked after. */
export const superuser = "postgres";
const loopback = "127.0.0.1";

/** Options of `startPostgres`. */
export interface StartPostgresOptions {
  /** Kept between starts when given; otherwise temporary and removed. */
  readonly dataDir?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Password of the superuser `postgres` of a new data folder. Default: `postgres`. */
  readonly password?: string | undefined;
  /** Settings of the server by their names, such as `max_connections`. They win over the defaults, which are below. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Access from other machines. Default: none. */
  readonly outside?: OutsideDoor | undefined;
}

/** A data folder that a server can be started on. */
export interface PreparedPostgres {
  readonly programs: PostgresPrograms;
  /** Folder that really holds the data. */
  readonly root: string;
  readonly password: string;
}

/**
 * Makes the data folder ready before anything else takes time: installs the programs, finds a place that the server's user can enter,
 * and makes a new database cluster if there is none. Throws `EngineError` when this machine does not allow it.
 */
export async function preparePostgres(folder: string, password = "postgres"): Promise<PreparedPostgres> {
  const root = await dataHome(folder);
  const data = join(root, "data");
  const prepared = { programs: await resolvePostgres(data), root, password };
  if (await exists(data)) return prepared;
  const passwordFile = join(root, ".password");
  const authentication = ["-U", superuser, "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
  try {
    await writeOwned(passwordFile, password);
    await makeData(prepared, "initdb", [...authentication, "-E", "UTF8", "--locale=C"]);
  } finally {
    await rm(passwordFile, { force: true });
  }
  return prepared;
}

/** Makes the data by a program that fills a folder: they exist whole or not at all. Throws `EngineError` NotReady with its words. */
async function makeData(
  { programs, root }: PreparedPostgres,
  program: "initdb" | "pg_basebackup",
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const partial = join(root, "data.partial");
  await rm(partial, { recursive: true, force: true });
  if (unprivileged !== undefined) await chown(root, unprivileged.uid, unprivileged.gid);
  try {
    await run(join(programs.folder, program), ["-D", partial, ...args], {
      cwd: root,
      env: { ...inheritedEnvironment, ...programs.env, ...env },
      ...unprivileged,
    });
    await rename(partial, join(root, "data"));
  } catch (cause) {
    throw new EngineError("NotReady", `${program} failed in ${root}: ${wordsOf(cause)}`, { cause });
  }
}

const defaultSettings = {
  max_connections: "200",
  // Also when every tenant uses all sessions of its plan.
  superuser_reserved_connections: "20",
};

/** Starts a server that accepts password logins only. It listens on loopback, and where `outside` says. */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  await using stack = new AsyncDisposableStack();
  const dataDir = options.dataDir ?? stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-pg-"))).path;
  return await runServer(await preparePostgres(dataDir, options.password), options, stack);
}

/** Starts a server on a data folder that is ready. The contents of `stack` end after the server. */
async function runServer(
  { programs, root, password }: PreparedPostgres,
  options: StartPostgresOptions,
  stack: AsyncDisposableStack,
): Promise<PostgresServer> {
  const { outside } = options;
  const port = options.port ?? stack.use(await reservePorts(1)).ports[0] ?? 0;
  const accessFile = join(root, "access.conf");
  // Without this file the rules of `initdb` apply, which know loopback only.
  if (outside !== undefined) await writeOwned(accessFile, accessRules(outside));
  const access = outside === undefined ? {} : { hba_file: accessFile };
  const settings = Object.entries({ ...defaultSettings, ...options.settings, ...access });
  const place = ["-D", join(root, "data"), "-p", String(port), "-h", listenAddresses(outside), "-k", ""];
  const server = stack.use(
    await startProcess({
      name: "postgres",
      command: join(programs.folder, "postgres"),
      args: [...place, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      logFile: join(root, "postgres.log"),
      ready: () => acceptsLogins(port),
      cwd: root,
      env: programs.env,
      // Ends sessions instead of waiting for them.
      stopSignal: "SIGINT",
      ...unprivileged,
    }),
  );
  return Object.assign(stack.move(), {
    port,
    url: `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    dumpPrograms: programs.canDump ? programs.folder : undefined,
    dumpLibraries: programs.env["LD_LIBRARY_PATH"],
    programs,
    process: server,
  });
}

/** Tells whether a login is asked for its password: a server that is still starting accepts connections, but refuses logins. */
function acceptsLogins(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const parameters = Buffer.from("user\0postgres\0database\0postgres\0\0");
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + parameters.length, 0);
  // Version 3.0 of the protocol.
  head.writeInt32BE(3 << 16, 4);
  const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.concat([head, parameters])));
  socket.once("data", (answer) => {
    socket.destroy();
    // "R" asks for authentication, "E" is an error.
    resolve(answer.toString("latin1", 0, 1) === "R");
  });
  socket.on("error", () => resolve(false));
  socket.on("close", () => resolve(false));
  return promise;
}

/** Returns the addresses for `listen_addresses`: always loopback, by which the server is administered, and those of the door. */
export function listenAddresses(door: OutsideDoor | undefined): string {
  const { address = loopback } = door ?? {};
  if (address === "::") return "*";
  return address === loopback || address === "0.0.0.0" ? address : `${loopback},${address}`;
}

/** Lines of `pg_hba.conf`; the first one that fits counts. `all` leaves out replication, which therefore is for loopback only. */
export function accessRules({ insiders = [] }: OutsideDoor): string {
  const byPassword = "scram-sha-256";
  const own = [`${loopback}/32`, "::1/128"].flatMap((address) => [
    `host all all ${address} ${byPassword}`,
    `host replication all ${address} ${byPassword}`,
  ]);
  const refused = [superuser, ...insiders].map((login) => `host all "${login}" all reject`);
  return [...own, ...refused, `host all all all ${byPassword}`, ""].join("\n");
}

/** Options of `startStandby`. */
export interface StandbyOptions {
  /** Its programs must be able to copy it: those of the npm package cannot. */
  readonly primary: PostgresServer;
  /** Data folder of the standby; kept between starts. */
  readonly dataDir: string;
  /** Its physical replication slot on the primary, which must exist. The primary knows it by this name, too. */
  readonly name: string;
  /** A role that may replicate. */
  readonly user: string;
  readonly password: string;
  /** Settings as for `startPostgres`. Resource limits must not be smaller than the primary's. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** Copies the primary if there is no copy yet, and starts it on a free port of loopback. Throws `EngineError` when it does not start. */
export async function startStandby(options: StandbyOptions): Promise<PostgresServer> {
  const { primary, name, user } = options;
  const root = await dataHome(options.dataDir);
  const password = decodeURIComponent(new URL(primary.url).password);
  const prepared = { programs: primary.programs, root, password };
  const file = join(root, ".pgpass");
  await writeOwned(file, `*:*:*:${user}:${options.password}\n`);
  const from = ["--host=127.0.0.1", `--port=${primary.port}`, `--username=${user}`, "--no-password"];
  const how = ["--wal-method=stream", `--slot=${name}`, "--checkpoint=fast", "--write-recovery-conf"];
  if (!(await exists(join(root, "data"))))
    await makeData(prepared, "pg_basebackup", [...from, ...how], { PGPASSFILE: file });
  // The address of the primary that the copy recorded may be outdated: its port may change at a start.
  const passfile = file.replaceAll(/[\\']/g, "\\$&");
  const source = `host=127.0.0.1 port=${primary.port} user=${user} passfile='${passfile}' application_name=${name}`;
  const settings = { ...options.settings, primary_conninfo: source, primary_slot_name: name };
  await using stack = new AsyncDisposableStack();
  return await runServer(prepared, { settings }, stack);
}
