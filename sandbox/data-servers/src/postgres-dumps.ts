/** Dumps a PostgreSQL database, and restores a dump in its place. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type Client, DatabaseError } from "pg";
import * as databases from "./postgres-database.ts";
import type { Database } from "./postgres-database.ts";
import { ProgramError, type ProgramRun, runProgram } from "./programs.ts";

/** One restore. */
export interface RestoreOptions {
  /** Opens the dump at its beginning. */
  readonly open: () => Readable;
  readonly signal: AbortSignal;
  /** Identifies this restore and no other: 1 to 60 letters, digits, `-` and `_`. */
  readonly token: string;
  /** Called after each step; tests stop the process there. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** Restores of a database that are remembered as done. */
const remembered = 50;
const objectInUse = "55006";
const attempts = 5;
/** A tenant may set time limits for its database. */
const withoutTimeLimits =
  "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0 -c lock_timeout=0";

/** Explains why the database cannot be dumped or restored; undefined when it can. */
export function dumpObstacle({ programs }: Pick<Database, "programs">): string | undefined {
  if (programs !== undefined) return undefined;
  return "PostgreSQL cannot be backed up or restored here: pg_dump and pg_restore are missing; install the package postgresql-15 and start again with `npm run sandbox -- --reset`";
}

/** Writes a dump of the database to `to`, which is ended only when the dump is whole. Throws `ProgramError`. */
export async function dumpDatabase(database: Database, to: Writable, signal: AbortSignal): Promise<void> {
  // The superuser, because policies may hide rows from everyone else.
  const { username, password } = database.url;
  const login = { username, password: decodeURIComponent(password) };
  const options = ["--format=custom", "--compress=3", "--lock-wait-timeout=60000", "--no-subscriptions"];
  await runProgram(programRun(database, "pg_dump", login, [...options, database.name], signal), { to });
}

/**
 * Replaces the data of the database with those of a dump, all or nothing, and once for each token: a crash leaves the old data or the new.
 * Ends the sessions of its logins. Throws `ProgramError` when `pg_restore` fails; then the old data stay.
 */
export async function restoreDatabase(database: Database, options: RestoreOptions): Promise<void> {
  const { signal, token, onStep } = options;
  await databases.withSession(database.url, async (client) => {
    const done = await restoresDone(client, database);
    try {
      if (!done.includes(token)) {
        await removeLeftovers(client, database);
        await fillStaging(client, database, options);
        signal.throwIfAborted();
        await onStep?.("restore staged");
        await exchange(client, database, [...done, token].slice(-remembered));
        await onStep?.("restore swapped");
      }
    } finally {
      await removeLeftovers(client, database);
      if (await databases.exists(client, "pg_database", database.name))
        await databases.openDatabase(client, database);
    }
  });
}

async function fillStaging(client: Client, database: Database, { open, signal }: RestoreOptions) {
  const { owner, keeper } = database;
  const staging = databases.stagingOf(database);
  const login = { username: keeper, password: randomBytes(24).toString("base64url") };
  await databases.makeDatabase(client, database, staging);
  await databases.runAll(
    client,
    `create role ${databases.quote(keeper)} login password ${databases.literal(login.password)} in role ${databases.quote(owner)}`,
    `grant connect on database ${databases.quote(staging)} to ${databases.quote(keeper)}`,
    `alter database ${databases.quote(staging)} connection limit 1`,
  );
  const how = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"];
  const args = [...how, "--no-subscriptions", `--role=${owner}`, `--dbname=${staging}`];
  await runProgram(programRun(database, "pg_restore", login, args, signal), { from: open() });
  // Code of the tenant may have made something under the keeper's own name.
  await databases.giveToOwner(database, keeper, staging);
}

/** Puts the staging database in the place of the database, in one transaction with the mark of the restore. */
async function exchange(client: Client, database: Database, done: readonly string[]) {
  const names = [database.name, databases.stagingOf(database), databases.retiredOf(database)];
  const [name, staging, retired] = names.map(databases.quote);
  // A database that was lost is restored, too.
  const isThere = await databases.exists(client, "pg_database", database.name);
  for (let attempt = 1; ; attempt++) {
    await databases.runAll(client, `alter database ${staging} connection limit 0`);
    if (isThere) await databases.runAll(client, `alter database ${name} connection limit 0`);
    for (const each of [database.name, databases.stagingOf(database)])
      await databases.endSessions(client, "datname", each);
    try {
      await databases.runTogether(
        client,
        ...(isThere ? [`alter database ${name} rename to ${retired}`] : []),
        `alter database ${staging} rename to ${name}`,
        `comment on database ${name} is ${databases.literal(done.join(" "))}`,
      );
      return;
    } catch (error) {
      const isInUse = error instanceof DatabaseError && error.code === objectInUse;
      if (!isInUse || attempt === attempts) throw error;
    }
  }
}

/** Drops what this restore, or one that a crash interrupted, made for itself. */
async function removeLeftovers(client: Client, database: Database): Promise<void> {
  for (const name of [databases.stagingOf(database), databases.retiredOf(database)])
    await databases.runAll(client, `drop database if exists ${databases.quote(name)} with (force)`);
  await databases.dropRole(client, database, database.keeper);
}

async function restoresDone(client: Client, { name }: Database): Promise<readonly string[]> {
  const { rows } = await client.query<{ mark: string | null }>(
    "select shobj_description(oid, 'pg_database') as mark from pg_database where datname = $1",
    [name],
  );
  return rows[0]?.mark?.split(" ") ?? [];
}

function programRun(
  database: Database,
  program: "pg_dump" | "pg_restore",
  { username, password }: databases.Login,
  args: readonly string[],
  signal: AbortSignal,
): ProgramRun {
  const { url, programs } = database;
  if (programs === undefined) throw new ProgramError(dumpObstacle(database) ?? "");
  const { folder, libraries } = programs;
  const env = {
    LC_ALL: "C",
    PATH: "/usr/bin:/bin",
    ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }),
    PGHOST: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    PGPORT: url.port === "" ? "5432" : url.port,
    // The password is not among the arguments, which every user of the machine can read.
    PGUSER: username,
    PGPASSWORD: password,
    PGCONNECT_TIMEOUT: "30",
    PGOPTIONS: withoutTimeLimits,
    PGAPPNAME: "klutch-backup",
  };
  return { program: join(folder, program), args: ["--no-password", ...args], env, signal };
}
