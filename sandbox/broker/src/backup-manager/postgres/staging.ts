/**
 * A database beside an instance's own, into which a dump is restored, and the exchange of the two. The exchange is one transaction of the
 * server, together with the mark by which a restore that is repeated knows that it was done: a crash leaves the old data or the new.
 */
import { DatabaseError, escapeIdentifier, escapeLiteral, type ClientBase } from "pg";
import type { Maintenance } from "../../maintenance.ts";
import { guestLogin, dismissGuest } from "./guest.ts";

/** Names in the server that belong to one instance. */
export interface RestoreNames {
  readonly database: string;
  readonly staging: string;
  /** What the old database is called until it is dropped. */
  readonly retired: string;
  readonly owner: string;
  readonly guest: string;
}

/** Matches databases that are only there while a restore runs. */
const passingDatabase = "^[dr][0-9a-f]{32}$";
const objectInUse = "55006";
const attempts = 5;

/** Makes the empty database, in which only the guest gets in. */
export async function makeStaging(maintenance: Maintenance, names: RestoreNames): Promise<void> {
  const { staging, owner, guest } = names;
  const name = escapeIdentifier(staging);
  await maintenance.run(
    `drop database if exists ${name} with (force)`,
    `create database ${name} template template0`,
    `revoke all on database ${name} from public`,
    `grant create, temporary on database ${name} to ${escapeIdentifier(owner)}`,
    `grant connect on database ${name} to ${escapeIdentifier(guest)}`,
  );
  await maintenance.runIn(staging, `alter schema public owner to ${escapeIdentifier(owner)}`);
}

/** Whether this restore was done already. */
export async function isDone(maintenance: Maintenance, names: RestoreNames, token: string): Promise<boolean> {
  const { rows } = await maintenance.pool.query<{ mark: string | null }>(
    "select shobj_description(oid, 'pg_database') as mark from pg_database where datname = $1",
    [names.database],
  );
  return rows[0]?.mark === markOf(token);
}

/** Puts the staging database in the place of the instance's own, in which then nobody is and nobody gets in. */
export async function exchange(maintenance: Maintenance, names: RestoreNames, token: string): Promise<void> {
  const { database, staging } = names;
  await maintenance.run(`alter database ${escapeIdentifier(staging)} connection limit 0`);
  await maintenance.seize(database);
  for (let attempt = 1; ; attempt++) {
    await close(maintenance, database);
    const client = await maintenance.pool.connect();
    try {
      await exchangeAtOnce(client, names, token);
      return;
    } catch (error) {
      await client.query("rollback");
      const isInUse = error instanceof DatabaseError && error.code === objectInUse;
      if (!isInUse || attempt === attempts) throw error;
    } finally {
      client.release();
    }
  }
}

/** Drops what restores that were interrupted left, and the guests. */
export async function dropLeftovers(maintenance: Maintenance): Promise<void> {
  const databases = await maintenance.pool.query<{ name: string }>(
    "select datname as name from pg_database where datname ~ $1",
    [passingDatabase],
  );
  for (const { name } of databases.rows)
    await maintenance.run(`drop database if exists ${escapeIdentifier(name)} with (force)`);
  const guests = await maintenance.pool.query<{ name: string }>(
    "select rolname as name from pg_roles where rolname ~ $1",
    [guestLogin],
  );
  for (const { name } of guests.rows) await dismissGuest(maintenance, name);
}

/** Nobody gets in, and those who are in are sent away; the server's own people are left alone, and then keep it from being exchanged. */
async function close(maintenance: Maintenance, database: string): Promise<void> {
  if (!(await maintenance.exists("pg_database", database))) return;
  await maintenance.run(`alter database ${escapeIdentifier(database)} connection limit 0`);
  await maintenance.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity join pg_roles on rolname = usename where datname = $1 and not rolsuper",
    [database],
  );
}

async function exchangeAtOnce(client: ClientBase, names: RestoreNames, token: string): Promise<void> {
  const [database, staging, retired] = [names.database, names.staging, names.retired].map((name) =>
    escapeIdentifier(name),
  );
  await client.query("begin");
  const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [names.database]);
  // One that was lost is restored, too.
  if (rowCount !== 0) await client.query(`alter database ${database} rename to ${retired}`);
  await client.query(`alter database ${staging} rename to ${database}`);
  await client.query(`comment on database ${database} is ${escapeLiteral(markOf(token))}`);
  await client.query("commit");
}

function markOf(token: string): string {
  return `restore ${token}`;
}
