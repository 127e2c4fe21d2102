/** PostgreSQL with its own data folder. */
import { execFile } from "node:child_process";
import { chown, mkdtemp, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { reservePorts } from "./ports.ts";
import { exists } from "./paths.ts";
import { dataHome } from "./data-home.ts";
import { accessRules, listenAddresses, type OutsideDoor, superuser } from "./postgres-access.ts";
import { type PostgresPrograms, resolvePostgres } from "./postgres-programs.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { unprivileged, writeOwned } from "./unprivileged.ts";

const run = promisify(execFile);

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
export async function preparePostgres(options: {
  readonly dataDir: string;
  readonly password?: string | undefined;
}): Promise<PreparedPostgres> {
  const root = await dataHome(options.dataDir);
  const data = join(root, "data");
  const password = options.password ?? "postgres";
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
export async function makeData(
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError("NotReady", `${program} failed in ${root}: ${reason}`, { cause });
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
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "klutch-pg-")));
  if (options.dataDir === undefined) stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  return await runServer(await preparePostgres({ ...options, dataDir }), options, stack);
}

/** Starts a server on a data folder that is ready. The contents of `stack` end after the server. */
export async function runServer(
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
  const owned = stack.move();
  return {
    port,
    url: `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    dumpPrograms: programs.canDump ? programs.folder : undefined,
    dumpLibraries: programs.env["LD_LIBRARY_PATH"],
    programs,
    process: server,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
