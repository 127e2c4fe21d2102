/** Single sessions of the superuser, in which nothing counts that a stranger set. */
import { Client } from "pg";

/** They come with the connection and win over what is set for a database or a role. */
export const safeSettings: string = Object.entries({
  search_path: "pg_catalog",
  role: "none",
  local_preload_libraries: "",
  default_transaction_read_only: "off",
  default_transaction_isolation: "read\\ committed",
  row_security: "off",
  session_replication_role: "origin",
  lock_timeout: "30s",
  statement_timeout: "5min",
  idle_in_transaction_session_timeout: "0",
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** A session in the database that the URL names, while `work` runs. */
export async function withSession<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, options: safeSettings });
  // A login that ends, or a server that stops, ends the session; the query that runs then says so.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
