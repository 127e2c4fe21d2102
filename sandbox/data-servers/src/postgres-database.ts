/**
 * Manages one database in a PostgreSQL server with its logins. An owner role that cannot log in owns the contents; logins act as the
 * owner, so what they make survives them. The database itself belongs to the superuser, so tenants cannot change its limits. Every function
 * can be repeated after a crash; those that work on one database must not run at the same time.
 */
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from "pg";

/** Locates `pg_dump` and `pg_restore`. They must not be older than the server. */
export interface DumpPrograms {
  readonly folder: string;
  /** Folders of their libraries, as in `LD_LIBRARY_PATH`. Default: where the system looks. */
  readonly libraries?: string | undefined;
}

/** Settings of a server or a database, by name. */
export type Settings = Readonly<Record<string, string>>;

/** A database, where it is and what it is limited to. */
export interface Database {
  /** URL of the server's superuser, in a database that no tenant uses. */
  readonly url: URL;
  readonly name: string;
  readonly owner: string;
  /** Login that exists only during a restore, with the owner's rights: a dump contains code of the tenant. */
  readonly keeper: string;
  /** Sessions at the same time; -1 for any number. */
  readonly connections: number;
  readonly settings?: Settings | undefined;
  /** Undefined when this machine has none: then there are no dumps. */
  readonly programs: DumpPrograms | undefined;
}

/** A user and its password. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Names of databases that exist only while a restore runs. */
export const stagingOf = ({ name }: Database): string => `${name}_staging`;
export const retiredOf = ({ name }: Database): string => `${name}_retired`;
/** Closes the databases that every login could enter otherwise. */
export const closeCommonDatabases: string = "revoke all on database postgres, template1 from public";
const makingOf = (name: string): string => `${name}_new`;

/** Makes the database if it does not exist, and applies its limits and settings. */
export async function ensureDatabase(database: Database): Promise<void> {
  const { url, name, owner } = database;
  await withSession(url, async (client) => {
    if (!(await exists(client, "pg_roles", owner)))
      await runAll(client, `create role ${quote(owner)} nologin`);
    if (!(await exists(client, "pg_database", name))) await makeDatabase(client, database, name);
    await openDatabase(client, database);
  });
}

/** Makes an empty database that no login can enter yet. It gets its name only when its rights are complete. */
export async function makeDatabase(client: Client, { url, owner }: Database, name: string): Promise<void> {
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
export async function openDatabase(client: Client, database: Database): Promise<void> {
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
export async function dropDatabase(database: Database, logins: readonly string[]): Promise<void> {
  const { url, name, owner, keeper } = database;
  const names = [name, stagingOf(database), retiredOf(database)];
  await withSession(url, async (client) => {
    for (const each of [...names, ...names.map(makingOf)])
      await runAll(client, `drop database if exists ${quote(each)} with (force)`);
    for (const role of [...logins, keeper, owner]) await dropRole(client, database, role);
  });
}

/** Makes the login, or sets its password again and undoes what the login set for itself. */
export async function ensureLogin({ url, owner }: Database, { username, password }: Login): Promise<void> {
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
export async function dropLogin(database: Database, login: string): Promise<void> {
  const { url, name } = database;
  await withSession(url, async (client) => {
    if (!(await exists(client, "pg_roles", login))) return;
    await runAll(client, `alter role ${quote(login)} nologin`);
    await endSessions(client, "usename", login);
    if (await exists(client, "pg_database", name)) await giveToOwner(database, login, name);
    await dropRole(client, database, login);
  });
}

/** Gives what the login made under its own name in a database to the owner. */
export async function giveToOwner({ url, owner }: Database, login: string, name: string): Promise<void> {
  const reassign = `reassign owned by ${quote(login)} to ${quote(owner)}`;
  await withSession(url, (inside) => runAll(inside, reassign), name);
}

/** Ends all sessions of a login, or of all logins but superusers in a database. */
export async function endSessions(client: Client, by: "usename" | "datname", value: string): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity join pg_roles on rolname = usename where ${by} = $1 and not rolsuper`,
    [value],
  );
}

/** Drops the role with its rights in every database: tenants can grant to any role of the server. */
export async function dropRole(client: Client, { url }: Database, role: string): Promise<void> {
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

const settings = [
  "search_path=pg_catalog",
  "role=none",
  "local_preload_libraries=",
  "default_transaction_read_only=off",
  "row_security=off",
  "statement_timeout=5min",
  "lock_timeout=30s",
  "log_statement=none",
  "log_min_error_statement=panic",
  "log_min_messages=fatal",
];
const attempts = 10;

/** Opens a session while `work` runs. The database `name` defaults to that of the URL. */
export async function withSession<T>(url: URL, work: (on: Client) => Promise<T>, name?: string): Promise<T> {
  const target = new URL(url);
  if (name !== undefined) target.pathname = `/${name}`;
  const options = settings.map((setting) => `-c ${setting}`).join(" ");
  const client = new Client({ connectionString: target.href, options });
  // A server that stops ends the session; the running query reports it.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs each statement by itself, again when another session changed the same catalog row at that moment. */
export async function runAll(client: Client, ...statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query(statement);
        break;
      } catch (error) {
        const isPassing =
          error instanceof DatabaseError &&
          (error.code === "40P01" ||
            (error.code === "XX000" && error.message.startsWith("tuple concurrently")));
        if (!isPassing || attempt === attempts) throw error;
      }
    }
  }
}

/** Runs the statements in one transaction, which the server opens for statements that come together. */
export async function runTogether(client: Client, ...statements: readonly string[]): Promise<void> {
  await runAll(client, statements.join("; "));
}

/** Size and sessions of a database. */
export interface DatabaseActivity {
  readonly name: string;
  readonly bytes: number;
  /** Sessions since the database was made, those of superusers included, until a crash of the server. */
  readonly sessions: number;
  /** Another database of this name has another one. */
  readonly epoch: string;
  /** Somebody besides superusers has a session now. */
  readonly isOpen: boolean;
}

/** Returns the activity of those databases that exist, without a session in any of them. */
export async function activityOf(
  client: Client,
  names: readonly string[],
): Promise<readonly DatabaseActivity[]> {
  const { rows } = await client.query<
    Record<"name" | "bytes" | "sessions" | "epoch", string> & { isOpen: boolean }
  >(
    `select datname as name, oid::text as epoch, pg_database_size(oid) as bytes,
       coalesce((select sessions from pg_stat_database where datid = pg_database.oid), 0) as sessions,
       exists (select from pg_stat_activity join pg_roles on rolname = usename
         where datid = pg_database.oid and backend_type = 'client backend' and not rolsuper) as "isOpen"
     from pg_database where datname = any ($1)`,
    [names],
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes), sessions: Number(row.sessions) }));
}

/** Reports whether the role or database exists. */
export async function exists(
  client: Client,
  table: "pg_roles" | "pg_database",
  name: string,
): Promise<boolean> {
  const column = table === "pg_roles" ? "rolname" : "datname";
  return (await client.query(`select 1 from ${table} where ${column} = $1`, [name])).rowCount !== 0;
}

export const quote = (name: string): string => escapeIdentifier(name);
export const literal = (text: string): string => escapeLiteral(text);
