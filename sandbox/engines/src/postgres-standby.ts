/** A standby of a PostgreSQL server: a copy that follows it by streaming replication, and answers questions. */
import { execFile } from "node:child_process";
import { chown, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { dataHome } from "./data-home.ts";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { writeOwned } from "./owned-file.ts";
import { exists } from "./paths.ts";
import { reservePorts } from "./ports.ts";
import { type PostgresServer, runServer } from "./postgres.ts";
import { unprivileged } from "./unprivileged.ts";

const run = promisify(execFile);

/** Options of `startStandby`. */
export interface StandbyOptions {
  readonly primary: PostgresServer;
  /** Of the standby; kept between starts. */
  readonly dataDir: string;
  /** Its physical replication slot on the primary, which must be there. The primary knows it by this name, too. */
  readonly name: string;
  /** A role that may replicate. */
  readonly user: string;
  readonly password: string;
  /** As of `startPostgres`. Those that bound resources must not be smaller than the primary's. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Ends the copying. */
  readonly signal?: AbortSignal | undefined;
}

/** Whether the server's programs can copy it. Those of the npm package cannot. */
export function canCopy({ programs }: PostgresServer): Promise<boolean> {
  return exists(join(programs.folder, "pg_basebackup"));
}

/** Copies the primary if there is no copy yet, and starts it on a free port of loopback. Throws `EngineError` when it does not start. */
export async function startStandby(options: StandbyOptions): Promise<PostgresServer> {
  const { primary, name, user } = options;
  const root = await dataHome(options.dataDir);
  await writeOwned(join(root, ".pgpass"), `*:*:*:${user}:${options.password}\n`);
  if (!(await exists(join(root, "data")))) await copy(options, root);
  await using stack = new AsyncDisposableStack();
  const port = stack.use(await reservePorts(1)).ports[0] ?? 0;
  // Not in its own files: the primary's port may be another one after a start.
  const passfile = join(root, ".pgpass").replaceAll(/[\\']/g, "\\$&");
  const source = `host=127.0.0.1 port=${primary.port} user=${user} passfile='${passfile}' application_name=${name}`;
  const settings = { ...options.settings, primary_conninfo: source, primary_slot_name: name };
  const password = decodeURIComponent(new URL(primary.url).password);
  const server = stack.use(
    await runServer({ programs: primary.programs, root, password }, { settings, port }),
  );
  const owned = stack.move();
  return { ...server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The copy is there only when it is whole. */
async function copy(options: StandbyOptions, root: string): Promise<void> {
  const { primary, name, user, signal } = options;
  const partial = join(root, "data.partial");
  await mkdir(root, { recursive: true });
  await rm(partial, { recursive: true, force: true });
  if (unprivileged !== undefined) await chown(root, unprivileged.uid, unprivileged.gid);
  const from = ["--host=127.0.0.1", `--port=${primary.port}`, `--username=${user}`, "--no-password"];
  const how = ["--wal-method=stream", `--slot=${name}`, "--checkpoint=fast", `--pgdata=${partial}`];
  try {
    await run(join(primary.programs.folder, "pg_basebackup"), [...from, ...how], {
      cwd: root,
      env: { ...inheritedEnvironment, ...primary.programs.env, PGPASSFILE: join(root, ".pgpass") },
      signal,
      ...unprivileged,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError("NotReady", `pg_basebackup failed in ${root}: ${reason}`, { cause });
  }
  await writeOwned(join(partial, "standby.signal"), "");
  await rename(partial, join(root, "data"));
}
