/** What logins of the key-value store may do. Pure. */
import { createHash } from "node:crypto";

/** Logins of bindings, and nobody else. */
const login = /^u[0-9a-f]{32}$/;

/**
 * Everything that works on data. `@admin` and `@dangerous` hold what changes or stops the server, reads its files, makes it call others
 * (`CONFIG`, `DEBUG`, `SHUTDOWN`, `SAVE`, `REPLICAOF`, `SYNC`, `MIGRATE`, `MODULE`, `ACL`), or works on others' connections. A few of
 * them are harmless in a server of one's own.
 */
const working = [
  "+@all",
  "-@admin",
  "-@dangerous",
  "+keys",
  "+flushdb",
  "+flushall",
  "+info",
  "+sort",
  "+role",
  "+acl|whoami",
] as const;

/** While the disk is full: reading, and what makes room. Scripts could write. */
const making = ["-@write", "-@scripting", "+del", "+unlink", "+expire", "+flushdb", "+flushall"] as const;

/** What the server keeps of a password. */
export function passwordDigest(password: string): string {
  return createHash("sha256").update(password).digest("hex");
}

/** Rules of a login for `ACL SETUSER`, which begin from nothing. */
export function loginRules(passwordDigests: readonly string[], isFull: boolean): readonly string[] {
  return ["reset", "on", ...passwordDigests.map((digest) => `#${digest}`), "~*", "&*", ...rightsOf(isFull)];
}

/** Rights alone, for a login that keeps its password. */
export function rightsOf(isFull: boolean): readonly string[] {
  return ["-@all", ...working, ...(isFull ? making : [])];
}

/** Logins of bindings in the server's list of users. */
export function loginsIn(users: readonly string[]): readonly string[] {
  return users.filter((name) => login.test(name));
}
