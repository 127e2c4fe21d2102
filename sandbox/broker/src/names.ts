/** Names and passwords that a broker makes up. They follow from identifiers and its key, so they are stored nowhere. */
import { createHash, createHmac } from "node:crypto";
import type { Binding } from "./store.ts";

/** Identifiers from outside may be long and hold anything; a hash of 32 hexadecimal digits fits every server and file system. */
export function shortHash(identifier: string): string {
  return createHash("sha256").update(identifier).digest("hex").slice(0, 32);
}

/** Names in the server. */
export function namesOf(instanceId: string): { readonly database: string; readonly owner: string } {
  const hash = shortHash(instanceId);
  return { database: `i${hash}`, owner: `o${hash}` };
}

/** Login of a binding. */
export function userOf(bindingId: string): string {
  return `u${shortHash(bindingId)}`;
}

/** Password of a binding's login. */
export function passwordOf(binding: Binding, secretKey: string): string {
  return derive(`${binding.id}/${binding.salt}`, secretKey);
}

/** Password of the broker's own account in the server of an instance. */
export function adminPasswordOf(instanceId: string, secretKey: string): string {
  return derive(`server/${instanceId}`, secretKey);
}

function derive(of: string, secretKey: string): string {
  return createHmac("sha256", secretKey).update(of).digest("base64url");
}
