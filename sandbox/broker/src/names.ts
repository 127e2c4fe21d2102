/** Derives names and passwords from identifiers and the broker's key, so that they are stored nowhere. */
import { createHash, createHmac } from "node:crypto";
import type { postgres } from "@klutch/data-servers";
import type { Binding } from "./store.ts";

/** Returns 32 hexadecimal digits, which every server and file system accepts; identifiers may be long and contain anything. */
export function shortHash(identifier: string): string {
  return createHash("sha256").update(identifier).digest("hex").slice(0, 32);
}

/** Returns the names of an instance's database, of its owner, and of the login that exists during a restore. */
export function namesOf(instanceId: string): Readonly<Record<"database" | "owner" | "keeper", string>> {
  const hash = shortHash(instanceId);
  return { database: `i${hash}`, owner: `o${hash}`, keeper: `b${hash}` };
}

/** Returns the user of a binding. */
export function userOf(bindingId: string): string {
  return `u${shortHash(bindingId)}`;
}

/** Returns the login of a binding with its password, which follows from the key and the stored salt, and is not stored. */
export function loginOf({ id, salt }: Binding, secretKey: string): postgres.Login {
  return { username: userOf(id), password: derive(`${id}/${salt}`, secretKey) };
}

/** Returns the password of the broker's own account in the server of an instance. */
export function adminPasswordOf(instanceId: string, secretKey: string): string {
  return derive(`server/${instanceId}`, secretKey);
}

function derive(of: string, secretKey: string): string {
  return createHmac("sha256", secretKey).update(of).digest("base64url");
}
