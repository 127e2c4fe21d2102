/**
 * A login for one dump or restore. What runs in its session may be a tenant's code (an index over a function, say), and a superuser's
 * session that has only set another role can take its own rights back. So the session itself belongs to a role that is nobody:
 * a member of the owner, which may do in that one database what the tenant may, and nothing elsewhere.
 */
import { randomBytes } from "node:crypto";
import { escapeIdentifier, escapeLiteral } from "pg";
import type { Maintenance } from "../../maintenance.ts";
import { dropRole } from "../../roles.ts";
import { scramVerifier } from "../../scram.ts";

/** Matches names of these logins. */
export const guestLogin = "^b[0-9a-f]{32}$";

/** What the login may do. */
export interface GuestRights {
  /** Roles whose rights it has. */
  readonly memberOf: readonly string[];
  /** Whether it sees rows that the tenant's own policies hide from their owner. */
  readonly seesAllRows: boolean;
}

/** Makes the login anew; gives back its password, which is kept nowhere. */
export async function inviteGuest(
  maintenance: Maintenance,
  name: string,
  rights: GuestRights,
): Promise<string> {
  await dismissGuest(maintenance, name);
  const password = randomBytes(24).toString("base64url");
  const verifier = scramVerifier(password, randomBytes(16));
  const roles = rights.memberOf.map((role) => escapeIdentifier(role)).join(", ");
  await maintenance.run(
    `create role ${escapeIdentifier(name)} login connection limit 2 ${rights.seesAllRows ? "bypassrls" : ""}
       in role ${roles} password ${escapeLiteral(verifier)}`,
  );
  return password;
}

/** Ends its sessions and drops it with all that it has; does nothing when it is gone. */
export async function dismissGuest(maintenance: Maintenance, name: string): Promise<void> {
  if (!(await maintenance.exists("pg_roles", name))) return;
  await maintenance.run(`alter role ${escapeIdentifier(name)} nologin`);
  await maintenance.pool.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [
    name,
  ]);
  await dropRole(maintenance, name);
}
