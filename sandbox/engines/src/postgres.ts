/** PostgreSQL with its own data folder. */
import { execFile } from "node:child_process";
import { chown, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { writeOwned } from "./owned-file.ts";
import { reservePorts } from "./ports.ts";
import { exists } from "./paths.ts";
import { dataHome } from "./data-home.ts";
import { accessRules, listenAddresses, type OutsideDoor, superuser } from "./postgres-access.ts";
import { type PostgresPrograms, resolvePostgres } from "./postgres-programs.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { unprivileged } from "./unprivileged.ts";

const run = promisify(execFile);

/** A server that runs. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Connection URL of the superuser by loopback, with its password. */
  readonly url: string;
  /** Where `pg_dump` and `pg_restore` of the server's version are; undefined when the server came without them. */
  readonly dumpPrograms: string | undefined;
  /** `LD_LIBRARY_PATH` of these; undefined when the system finds their libraries itself. */
  readonly dumpLibraries: string | undefined;
  /** Those that it was started from; a standby needs the same. */
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
  /** How it is reached from other machines. Default: not at all. */
  readonly outside?: OutsideDoor | undefined;
  /** Default: inside the data folder's parent. */
  readonly logFile?: string | undefined;
}

/** A data folder that a server can be started on. */
export interface PreparedPostgres {
  readonly programs: PostgresPrograms;
  /** Where the data really is. */
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
  const password = options.password ?? "postgres";
  const data = join(root, "data");
  const programs = await resolvePostgres(data);
  if (!(await exists(data))) await initialise(programs, root, data, password);
  return { programs, root, password };
}

const defaultSettings = {
  max_connections: "200",
  // Also when every tenant uses all sessions of its plan.
  superuser_reserved_connections: "20",
};

/** Starts a server that accepts password logins only. It listens on loopback, and where `outside` says. */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  await using stack = new AsyncDisposableStack();
  const dataDir = options.dataDir ?? (await temporaryFolder(stack));
  const prepared = await preparePostgres({ dataDir, password: options.password });
  const port = options.port ?? stack.use(await reservePorts(1)).ports[0] ?? 0;
  const server = stack.use(await runServer(prepared, { ...options, port }));
  const owned = stack.move();
  return { ...server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts a server on a data folder that is ready. */
export async function runServer(
  { programs, root, password }: PreparedPostgres,
  options: Pick<StartPostgresOptions, "settings" | "outside" | "logFile"> & { readonly port: number },
): Promise<PostgresServer> {
  const { port, outside } = options;
  const access = outside === undefined ? {} : { hba_file: await writeAccess(root, outside) };
  const settings = Object.entries({ ...defaultSettings, ...options.settings, ...access });
  const server = await startProcess({
    name: "postgres",
    command: join(programs.folder, "postgres"),
    args: [
      "-D",
      join(root, "data"),
      "-p",
      String(port),
      "-h",
      listenAddresses(outside),
      "-k",
      "",
      ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    logFile: options.logFile ?? join(root, "postgres.log"),
    ready: () => acceptsLogins(port),
    cwd: root,
    env: programs.env,
    // Ends sessions instead of waiting for them.
    stopSignal: "SIGINT",
    ...unprivileged,
  });
  return {
    port,
    url: `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    dumpPrograms: programs.canDump ? programs.folder : undefined,
    dumpLibraries: programs.env["LD_LIBRARY_PATH"],
    programs,
    process: server,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** Without it the rules of `initdb` count, which know loopback only. */
async function writeAccess(root: string, outside: OutsideDoor): Promise<string> {
  const path = join(root, "access.conf");
  await writeOwned(path, accessRules(outside));
  return path;
}

async function temporaryFolder(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-pg-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function initialise(
  programs: PostgresPrograms,
  root: string,
  data: string,
  password: string,
): Promise<void> {
  await mkdir(root, { recursive: true });
  const passwordFile = join(root, ".password");
  const partial = `${data}.partial`;
  await rm(partial, { recursive: true, force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (unprivileged !== undefined) {
    await chown(root, unprivileged.uid, unprivileged.gid);
    await chown(passwordFile, unprivileged.uid, unprivileged.gid);
  }
  const authentication = ["-U", superuser, "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
  const args = ["-D", partial, ...authentication, "-E", "UTF8", "--locale=C"];
  try {
    await run(join(programs.folder, "initdb"), args, {
      cwd: root,
      env: { ...inheritedEnvironment, ...programs.env },
      ...unprivileged,
    });
    await rename(partial, data);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError("NotReady", `initdb failed in ${root}: ${reason}`, { cause });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Whether a login would be asked for its password: a server that is still starting accepts connections, but refuses logins. */
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
