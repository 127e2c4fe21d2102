/** Groups of a login that must fit into a cookie or a ticket: a person may be in thousands, and only few of them count. */
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { mostUserBytes, sealedUser } from "./sealed-user.ts";

/** Returns the groups that count. */
export type KnownGroups = (groups: readonly string[]) => Promise<readonly string[]>;

/** Returns the person with all groups if they fit, else with the known ones. Rejects with `UserError` 403 if these do not fit either. */
export async function withFittingGroups(person: Person, knownGroups: KnownGroups): Promise<Person> {
  if (fits(person)) return person;
  const groups = await knownGroups(person.groups ?? []);
  const fewer = { ...person, groups };
  if (fits(fewer)) return fewer;
  throw new UserError(
    403,
    `You are in ${groups.length} groups that roles of the control plane name, more than a login has room for.`,
    "Ask the platform operator to name fewer of them, or to use a groups claim with fewer groups.",
  );
}

function fits(person: Person): boolean {
  return Buffer.byteLength(Object.values(sealedUser(person)).join("")) <= mostUserBytes;
}
