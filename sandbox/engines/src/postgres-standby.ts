/** A standby of a PostgreSQL server: a copy that follows it by streaming replication, and answers questions. */
import { join } from "node:path";
import { dataHome } from "./data-home.ts";
import { exists } from "./paths.ts";
import { makeData, type PostgresServer, runServer } from "./postgres.ts";
import { writeOwned } from "./unprivileged.ts";

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
