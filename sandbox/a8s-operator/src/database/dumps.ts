/** Dumps of the instance's database, and putting one in its place. */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Client, DatabaseError, escapeLiteral } from "pg";
import { ChildError, postgresEnvironment, runProgram } from "@klutch/data-servers";
import type { Server } from "./server.ts";
import { letIn, makeDatabase } from "./database.ts";
import { databases, roles } from "./names.ts";
import { passwordOf, quote, runAll, withSession } from "./session.ts";

const objectInUse = "55006";
const attempts = 5;
/** So many restores of an instance are remembered as done. */
const remembered = 50;

/** A dump or a restore that failed; the message is for the person who asked for it. */
export class DumpError extends Error {
  readonly code = "DumpFailed";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DumpError";
  }
}

/** Writes the database to the file, which is there only when it is whole. Throws `DumpError`. */
export async function dumpTo(server: Server, file: string, signal: AbortSignal): Promise<void> {
  const partial = `${file}.partial`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await rm(partial, { force: true });
  // For nobody else, from its first byte on.
  await (await open(partial, "w", 0o600)).close();
  const args = ["--format=custom", "--lock-wait-timeout=60000", "--no-subscriptions", `--file=${partial}`];
  await runOn(server, "pg_dump", [...args, databases.own], signal);
  await using written = await open(partial, "r+");
  await written.sync();
  await rename(partial, file);
}

/**
 * Puts what the file holds in the place of the database, at once and one time only for each token: a crash leaves the old data or the new.
 * Throws `DumpError` when the old ones are still there.
 */
export async function restoreFrom(
  server: Server,
  file: string,
  token: string,
  signal: AbortSignal,
): Promise<void> {
  await withSession(server, databases.admin, async (client) => {
    const done = await restoresDone(client);
    if (!done.includes(token)) {
      await dropDatabases(client, databases.staging, databases.retired);
      await makeDatabase(client, server, databases.staging);
      const whole = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"];
      const args = [
        ...whole,
        "--no-subscriptions",
        `--role=${roles.owner}`,
        `--dbname=${databases.staging}`,
        file,
      ];
      await runOn(server, "pg_restore", args, signal);
      await exchange(client, [...done, token].slice(-remembered));
    }
    await runAll(client, ...letIn(databases.own));
    await dropDatabases(client, databases.staging, databases.retired);
  });
}

/** Tokens of the restores that the present data come from. */
async function restoresDone(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ mark: string | null }>(
    "select shobj_description(oid, 'pg_database') as mark from pg_database where datname = $1",
    [databases.own],
  );
  return rows[0]?.mark?.split(" ") ?? [];
}

/** In one transaction, together with the mark. */
async function exchange(client: Client, done: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await runAll(client, `alter database ${quote(databases.own)} connection limit 0`);
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = any ($1)", [
      [databases.own, databases.staging],
    ]);
    try {
      await runAll(
        client,
        "begin",
        `alter database ${quote(databases.own)} rename to ${quote(databases.retired)}`,
        `alter database ${quote(databases.staging)} rename to ${quote(databases.own)}`,
        `comment on database ${quote(databases.own)} is ${escapeLiteral(done.join(" "))}`,
        "commit",
      );
      return;
    } catch (error) {
      await client.query("rollback");
      const isInUse = error instanceof DatabaseError && error.code === objectInUse;
      if (!isInUse || attempt === attempts) throw error;
    }
  }
}

async function dropDatabases(client: Client, ...names: readonly string[]): Promise<void> {
  for (const name of names) await runAll(client, `drop database if exists ${quote(name)} with (force)`);
}

async function runOn(
  server: Server,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { url, dumpPrograms, dumpLibraries } = server;
  if (dumpPrograms === undefined)
    throw new DumpError(`${program} is not here; install the package postgresql-15 and make a new instance`);
  const env = postgresEnvironment({
    url,
    user: roles.keeper,
    password: passwordOf(server, roles.keeper),
    libraries: dumpLibraries,
  });
  const options = { program: join(dumpPrograms, program), args: ["--no-password", ...args], env, signal };
  try {
    await runProgram(options);
  } catch (cause) {
    signal.throwIfAborted();
    const words = cause instanceof ChildError ? cause.message : `${program} failed: ${String(cause)}`;
    throw new DumpError(words, { cause });
  }
}
