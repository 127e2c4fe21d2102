/** The user name and groups of a login as texts, for a cookie or a ticket. */
import type { Person } from "../identity.ts";

/** Bytes that both may have: a cookie has at most 4 KiB, sealed and in base64, and holds some 1,700 bytes besides in the worst case. */
export const mostUserBytes = 1_200;

type Named = Pick<Person, "user" | "groups">;

/** Returns the texts; none for a person without a name in RBAC. */
export function sealedUser({ user, groups = [] }: Named): Readonly<Record<string, string>> {
  return user === undefined ? {} : { user, groups: JSON.stringify(groups) };
}

/** Reads them back. Only a backend with the same key can have sealed them. */
export function openedUser({ user, groups = "[]" }: Readonly<Record<string, string>>): Named {
  if (user === undefined || user === "") return {};
  const list: unknown = JSON.parse(groups);
  return { user, groups: Array.isArray(list) ? list.filter((group) => typeof group === "string") : [] };
}
