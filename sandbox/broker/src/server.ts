/** What the broker does to its PostgreSQL server before it uses it. */
import type { Client } from "pg";
import { adminDatabase, bindingLogin } from "./maintenance.ts";
import { withSession } from "./session.ts";

/** Databases that everybody could enter otherwise; a session in template1 even keeps others from making databases. */
const closedDatabases = ["template1", "postgres", adminDatabase] as const;

/** Makes the broker's own database and closes those that are nobody's. Throws when the server is set up so that tenants could harm others. */
export async function prepareServer(url: string): Promise<void> {
  await withSession(url, async (client) => {
    await requireNoPreparedTransactions(client);
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [adminDatabase]);
    if (rowCount === 0)
      await client.query(`create database ${adminDatabase} template template0 connection limit 0`);
    for (const name of closedDatabases) await client.query(`revoke all on database ${name} from public`);
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = any ($1) and usename ~ $2",
      [closedDatabases, bindingLogin],
    );
  });
}

/** They hold locks without a session that could be ended. */
async function requireNoPreparedTransactions(client: Client): Promise<void> {
  const { rows } = await client.query<{ value: string }>(
    "select current_setting('max_prepared_transactions') as value",
  );
  if (rows[0]?.value === "0") return;
  throw new Error(
    `max_prepared_transactions of the PostgreSQL server is ${rows[0]?.value}, but must be 0: with prepared transactions a tenant could hold up what others do`,
  );
}
