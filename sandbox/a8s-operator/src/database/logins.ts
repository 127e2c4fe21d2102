/** The logins of bindings. Each acts as the owner, so what it makes survives it. */
import { hostInUrl } from "@klutch/data-servers";
import { escapeLiteral } from "pg";
import type { Server } from "./server.ts";
import { databases, roles } from "./names.ts";
import { exists, passwordOf, quote, runAll, withSession } from "./session.ts";

/** The login of a binding. */
export function loginOf(bindingUid: string): string {
  return `u${bindingUid.replaceAll("-", "")}`;
}

/** Makes the login; repeating it undoes what the login set for itself. Gives back what an application needs, by the keys of a9s services. */
export async function ensureLogin(server: Server, login: string): Promise<Readonly<Record<string, string>>> {
  const password = passwordOf(server, login);
  await withSession(server, databases.admin, async (client) => {
    if (!(await exists(client, "pg_roles", login)))
      await runAll(client, `create role ${quote(login)} nologin in role ${quote(roles.owner)}`);
    await runAll(
      client,
      // Who logs in at this moment finds it as it was, or as it is then; in between it would not act as the owner.
      "begin",
      // For what a login makes under its own name.
      `grant ${quote(login)} to ${quote(roles.keeper)}`,
      `alter role ${quote(login)} reset all`,
      `alter role ${quote(login)} set role to ${escapeLiteral(roles.owner)}`,
      `alter role ${quote(login)} login password ${escapeLiteral(password)}`,
      "commit",
    );
  });
  const { host, authority } = server;
  const { port } = server.url;
  const uri = `postgres://${login}:${password}@${hostInUrl(host)}:${port}/${databases.own}`;
  return {
    cacrt: authority,
    host,
    hosts: `[${host}]`,
    name: databases.own,
    password,
    port,
    uri,
    username: login,
  };
}

/** Ends its sessions and drops it; what it made under its own name goes to the owner. Does nothing when it is not there. */
export async function dropLogin(server: Server, login: string): Promise<void> {
  const name = quote(login);
  await withSession(server, databases.admin, async (client) => {
    if (!(await exists(client, "pg_roles", login))) return;
    await runAll(client, `alter role ${name} nologin`);
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [login]);
    if (await exists(client, "pg_database", databases.own))
      await withSession(server, databases.own, (inside) =>
        runAll(inside, `reassign owned by ${name} to ${quote(roles.owner)}`, `drop owned by ${name}`),
      );
    await runAll(client, `drop role ${name}`);
  });
}
