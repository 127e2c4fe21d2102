/** The superuser's sessions. What a tenant set counts in none of them, and passwords reach no log. */
import { createHmac } from "node:crypto";
import { Client, escapeIdentifier } from "pg";
import type { Server } from "./server.ts";

const safeSettings = Object.entries({
  search_path: "pg_catalog",
  statement_timeout: "5min",
  lock_timeout: "30s",
  default_transaction_read_only: "off",
  row_security: "off",
  log_statement: "none",
  log_min_error_statement: "panic",
  log_min_messages: "fatal",
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** A session while `work` runs. Its statements must be such that they can be repeated. */
export async function withSession<T>(
  { url }: Server,
  name: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const target = new URL(url);
  target.pathname = `/${name}`;
  const client = new Client({ connectionString: target.href, options: safeSettings });
  // A server that is stopped ends it; the query that runs then says so.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs the statements in order, each for itself. */
export async function runAll(client: Client, ...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await client.query(statement);
}

/** Whether there is such a role or database. */
export async function exists(
  client: Client,
  table: "pg_roles" | "pg_database",
  name: string,
): Promise<boolean> {
  const column = table === "pg_roles" ? "rolname" : "datname";
  const { rowCount } = await client.query(`select 1 from ${table} where ${column} = $1`, [name]);
  return rowCount !== 0;
}

/** The password of a login: always the same, and stored nowhere here. */
export function passwordOf(server: Server, login: string): string {
  return createHmac("sha256", server.key).update(login).digest("base64url");
}

export const quote = (name: string): string => escapeIdentifier(name);
