/** The instance's database and the roles that everything in it belongs to. Every step can be repeated after a crash. */
import type { Client } from "pg";
import { escapeLiteral } from "pg";
import type { Server } from "./server.ts";
import { databases, roles } from "./names.ts";
import { exists, passwordOf, quote, runAll, withSession } from "./session.ts";

/** Makes what is missing, and lets logins in that a restore which was interrupted kept out. */
export async function ensureDatabase(server: Server): Promise<void> {
  await withSession(server, databases.admin, async (client) => {
    await ensureRoles(client, server);
    if (!(await exists(client, "pg_database", databases.own)))
      await makeDatabase(client, server, databases.own);
    await runAll(client, ...letIn(databases.own));
  });
}

/** An empty database in which only the keeper gets in. */
export async function makeDatabase(client: Client, server: Server, name: string): Promise<void> {
  // One that was made in part is not taken up: its rights would not be right.
  const making = `${name}_new`;
  await runAll(
    client,
    `drop database if exists ${quote(making)} with (force)`,
    `create database ${quote(making)} template template0`,
    `revoke all on database ${quote(making)} from public`,
    `grant create, temporary on database ${quote(making)} to ${quote(roles.owner)}`,
    `grant connect on database ${quote(making)} to ${quote(roles.keeper)}`,
  );
  await withSession(server, making, (inside) =>
    runAll(inside, `alter schema public owner to ${quote(roles.owner)}`),
  );
  await runAll(client, `alter database ${quote(making)} rename to ${quote(name)}`);
}

/** Statements that let the owner's logins into the database. */
export function letIn(name: string): readonly string[] {
  return [
    `grant connect on database ${quote(name)} to ${quote(roles.owner)}`,
    `alter database ${quote(name)} connection limit -1`,
  ];
}

async function ensureRoles(client: Client, server: Server): Promise<void> {
  for (const role of [roles.owner, roles.keeper])
    if (!(await exists(client, "pg_roles", role))) await runAll(client, `create role ${quote(role)} nologin`);
  await runAll(
    client,
    `grant ${quote(roles.owner)} to ${quote(roles.keeper)}`,
    `alter role ${quote(roles.keeper)} login password ${escapeLiteral(passwordOf(server, roles.keeper))}`,
    `revoke all on database ${quote(databases.admin)}, template1 from public`,
  );
}
