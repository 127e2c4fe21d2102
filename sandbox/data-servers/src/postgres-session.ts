/** Sessions of a PostgreSQL superuser. Settings of a tenant have no effect in them, and the server does not log their passwords. */
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from "pg";

const settings = Object.entries({
  search_path: "pg_catalog",
  role: "none",
  local_preload_libraries: "",
  default_transaction_read_only: "off",
  row_security: "off",
  statement_timeout: "5min",
  lock_timeout: "30s",
  log_statement: "none",
  log_min_error_statement: "panic",
  log_min_messages: "fatal",
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

const attempts = 10;

/** Opens a session while `work` runs. `database` defaults to that of the URL. */
export async function withSession<T>(
  url: URL,
  work: (client: Client) => Promise<T>,
  database?: string,
): Promise<T> {
  const target = new URL(url);
  if (database !== undefined) target.pathname = `/${database}`;
  const client = new Client({ connectionString: target.href, options: settings });
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
  for (const statement of statements) await repeatedly(() => client.query(statement));
}

/** Runs the statements in one transaction. */
export async function runTogether(client: Client, ...statements: readonly string[]): Promise<void> {
  await repeatedly(async () => {
    try {
      await client.query("begin");
      for (const statement of statements) await client.query(statement);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    }
  });
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

async function repeatedly(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      const passes =
        error instanceof DatabaseError &&
        (error.code === "40P01" ||
          (error.code === "XX000" && error.message.startsWith("tuple concurrently ")));
      if (!passes || attempt === attempts) throw error;
    }
  }
}
