/** Sessions of a PostgreSQL superuser. Settings of a tenant have no effect in them, and the server does not log their passwords. */
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from "pg";

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

/** Opens a session while `work` runs. `database` defaults to that of the URL. */
export async function withSession<T>(
  url: URL,
  work: (client: Client) => Promise<T>,
  database?: string,
): Promise<T> {
  const target = new URL(url);
  if (database !== undefined) target.pathname = `/${database}`;
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
