/** Tells a server about its standbys. Every step can be repeated after a crash. */
import type { Client } from "pg";
import { exists, literal, quote, runAll, withSession } from "@klutch/data-servers";
import { roles, standbyName } from "./names.ts";
import { passwordOf, type Server } from "./database.ts";

/** Returns the login of standbys. */
export function replicationLogin(server: Server): { readonly user: string; readonly password: string } {
  return { user: roles.replicator, password: passwordOf(server, roles.replicator) };
}

/**
 * Makes the login and a slot for each of `count` standbys, and drops the slots of others, which must not run any more. Returns the numbers of
 * standbys whose copies are useless, because no slot kept the changes since they were made.
 */
export async function ensureSlots(server: Server, count: number): Promise<readonly number[]> {
  return withSession(server.url, async (client) => {
    const { user, password } = replicationLogin(server);
    if (count > 0) {
      if (!(await exists(client, "pg_roles", user)))
        await runAll(client, `create role ${quote(user)} nologin`);
      await runAll(client, `alter role ${quote(user)} login replication password ${literal(password)}`);
    }
    const kept = await slotsThatKeep(client);
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    const wanted = numbers.map(standbyName);
    await client.query(
      "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like 'a8s\\_standby\\_%' and not slot_name = any ($1)",
      [wanted.filter((name) => kept.has(name))],
    );
    const missing = numbers.filter((number) => !kept.has(standbyName(number)));
    for (const number of missing)
      await client.query("select pg_create_physical_replication_slot($1, true)", [standbyName(number)]);
    return missing;
  });
}

/** Returns the names of the slots for which the server still has all changes. */
async function slotsThatKeep(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    "select slot_name as name from pg_replication_slots where wal_status in ('reserved', 'extended', 'unreserved')",
  );
  return new Set(rows.map(({ name }) => name));
}

/** Counts the standbys that follow the server at this moment. */
export async function countStreaming(server: Server): Promise<number> {
  return withSession(server.url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_replication where state = 'streaming' and application_name like 'a8s\\_standby\\_%'",
    );
    return rows[0]?.count ?? 0;
  });
}
