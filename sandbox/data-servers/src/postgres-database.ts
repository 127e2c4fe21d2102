/**
 * Manages one database in a PostgreSQL server with its logins. An owner role that cannot log in owns the contents; logins act as the
 * owner, so what they make survives them. The database itself belongs to the superuser, so tenants cannot change its limits. Every function
 * can be repeated after a crash; those that work on one database must not run at the same time.
 */
import type { Client } from "pg";
import { exists, literal, quote, runAll, runTogether, withSession } from "./postgres-session.ts";

/** Locates `pg_dump` and `pg_restore`. They must not be older than the server. */
export interface DumpPrograms {
  readonly folder: string;
  /** Folders of their libraries, as in `LD_LIBRARY_PATH`. Default: where the system looks. */
  readonly libraries?: string | undefined;
}

/** A database, where it is and what it is limited to. */
export interface PostgresDatabase {
  /** URL of the server's superuser, in a database that no tenant uses. */
  readonly url: URL;
  readonly name: string;
  readonly owner: string;
  /** Login that exists only during a restore, with the owner's rights: a dump contains code of the tenant. */
  readonly keeper: string;
  /** Sessions at the same time; -1 for any number. */
  readonly connections: number;
  /** Settings of the database, by name. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Undefined when this machine has none: then there are no dumps. */
  readonly programs: DumpPrograms | undefined;
}

/** A user and its password. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Names of databases that exist only while a restore runs. */
export const stagingOf = ({ name }: PostgresDatabase): string => `${name}_staging`;
export const retiredOf = ({ name }: PostgresDatabase): string => `${name}_retired`;
/** Closes the databases that every login could enter otherwise. */
export const closeCommonDatabases: string = "revoke all on database postgres, template1 from public";
const makingOf = (name: string): string => `${name}_new`;

/** Makes the database if it does not exist, and applies its limits and settings. */
export async function ensureDatabase(database: PostgresDatabase): Promise<void> {
  const { url, name, owner } = database;
  await withSession(url, async (client) => {
    if (!(await exists(client, "pg_roles", owner)))
      await runAll(client, `create role ${quote(owner)} nologin`);
    if (!(await exists(client, "pg_database", name))) await makeDatabase(client, database, name);
    await openDatabase(client, database);
  });
}

/** Makes an empty database that no login can enter yet. It gets its name only when its rights are complete. */
export async function makeDatabase(
  client: Client,
  { url, owner }: PostgresDatabase,
  name: string,
): Promise<void> {
  const making = makingOf(name);
  await runAll(
    client,
    `drop database if exists ${quote(making)} with (force)`,
    `create database ${quote(making)} template template0 connection limit 0`,
    `revoke all on database ${quote(making)} from public`,
    `grant create, temporary on database ${quote(making)} to ${quote(owner)}`,
  );
  await withSession(url, (inside) => runAll(inside, `alter schema public owner to ${quote(owner)}`), making);
  await runAll(client, `alter database ${quote(making)} rename to ${quote(name)}`);
}

/** Lets the owner's logins in, and applies limits and settings. Throws when the database does not exist. */
export async function openDatabase(client: Client, database: PostgresDatabase): Promise<void> {
  const name = quote(database.name);
  await runAll(
    client,
    `alter database ${name} reset all`,
    ...Object.entries(database.settings ?? {}).map(
      ([setting, value]) => `alter database ${name} set ${quote(setting)} to ${literal(value)}`,
    ),
    `grant connect on database ${name} to ${quote(database.owner)}`,
    `alter database ${name} connection limit ${database.connections}`,
  );
}

/** Drops the database, its logins and its owner, and ends their sessions. */
export async function dropDatabase(
  database: PostgresDatabase,
  logins: readonly string[] = [],
): Promise<void> {
  const { url, name, owner, keeper } = database;
  const names = [name, stagingOf(database), retiredOf(database)];
  await withSession(url, async (client) => {
    for (const each of [...names, ...names.map(makingOf)])
      await runAll(client, `drop database if exists ${quote(each)} with (force)`);
    for (const role of [...logins, keeper, owner]) await dropRole(client, database, role);
  });
}

/** Makes the login, or sets its password again and undoes what the login set for itself. */
export async function ensureLogin(
  { url, owner }: PostgresDatabase,
  { username, password }: Login,
): Promise<void> {
  const user = quote(username);
  await withSession(url, async (client) => {
    if (!(await exists(client, "pg_roles", username)))
      await runAll(client, `create role ${user} nologin in role ${quote(owner)}`);
    await runTogether(
      client,
      `alter role ${user} reset all`,
      // Removes settings of the role in single databases.
      `do $$ declare d text; begin for d in select datname from pg_database join pg_db_role_setting on setdatabase = oid
         where setrole = ${literal(username)}::regrole
         loop execute format('alter role %I in database %I reset all', ${literal(username)}, d); end loop; end $$`,
      `alter role ${user} set role to ${literal(owner)}`,
      `alter role ${user} login connection limit -1 password ${literal(password)}`,
    );
  });
}

/** Ends the login's sessions and drops it; what it made under its own name goes to the owner. */
export async function dropLogin(database: PostgresDatabase, login: string): Promise<void> {
  const { url, owner, name } = database;
  await withSession(url, async (client) => {
    if (!(await exists(client, "pg_roles", login))) return;
    await runAll(client, `alter role ${quote(login)} nologin`);
    await endSessions(client, { login });
    if (await exists(client, "pg_database", name))
      await withSession(
        url,
        (inside) => runAll(inside, `reassign owned by ${quote(login)} to ${quote(owner)}`),
        name,
      );
    await dropRole(client, database, login);
  });
}

/** Ends all sessions of a login, or of all logins but superusers in a database. */
export async function endSessions(
  client: Client,
  of: { readonly login: string } | { readonly database: string },
): Promise<void> {
  const [column, value] = "login" in of ? ["usename", of.login] : ["datname", of.database];
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity join pg_roles on rolname = usename where ${column} = $1 and not rolsuper`,
    [value],
  );
}

/** Drops the role with its rights in every database: tenants can grant to any role of the server. */
export async function dropRole(client: Client, { url }: PostgresDatabase, role: string): Promise<void> {
  if (!(await exists(client, "pg_roles", role))) return;
  const { rows } = await client.query<{ name: string }>(
    `select distinct datname as name from pg_shdepend join pg_database on pg_database.oid = dbid
     where refclassid = 'pg_authid'::regclass and refobjid = $1::regrole`,
    [quote(role)],
  );
  for (const { name } of rows)
    await withSession(url, (inside) => runAll(inside, `drop owned by ${quote(role)}`), name);
  // Here also the rights on databases.
  await runAll(client, `drop owned by ${quote(role)}`, `drop role ${quote(role)}`);
}
