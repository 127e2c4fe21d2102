/** Dropping a role although other tenants gave it rights in their databases, which they can do unasked. */
import { DatabaseError, escapeIdentifier } from "pg";
import { adminDatabase, type Maintenance } from "./maintenance.ts";

const rounds = 10;
const dependentObjectsStillExist = "2BP01";

/** Drops the role and every right that it has anywhere; what it owns outside its own database goes with it. */
export async function dropRole(maintenance: Maintenance, role: string): Promise<void> {
  const name = escapeIdentifier(role);
  for (let round = 1; ; round++) {
    const databases = await databasesThatName(maintenance, role);
    for (const database of databases) {
      // Whoever is quick enough to grant again between the two statements loses its sessions.
      if (round > 1) await maintenance.endSessions({ database });
      await maintenance.runIn(database, `drop owned by ${name}`);
    }
    try {
      await maintenance.run(`drop role if exists ${name}`);
      return;
    } catch (error) {
      const isHeld = error instanceof DatabaseError && error.code === dependentObjectsStillExist;
      if (!isHeld || round === rounds) throw error;
    }
  }
}

async function databasesThatName(maintenance: Maintenance, role: string): Promise<readonly string[]> {
  const { rows } = await maintenance.pool.query<{ name: string }>(
    `select distinct coalesce(datname, $2) as name
     from pg_shdepend join pg_roles on pg_roles.oid = refobjid left join pg_database on pg_database.oid = dbid
     where refclassid = 'pg_authid'::regclass and rolname = $1`,
    [role, adminDatabase],
  );
  return rows.map(({ name }) => name);
}
