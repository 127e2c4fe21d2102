/**
 * Removes a person from one app cluster, with their Grants there, as `klutch revoke member --tenant --end-apis` does. The membership goes first: from
 * then on the person cannot bind there. A failure in between leaves Grants, which the page of Grants shows.
 */
import {
  appClusterBindingAnnotation,
  displayName,
  type Grant,
  grants,
  identityAnnotation,
  plainText,
} from "@klutch/api";
import { isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import { memberRowId } from "@klutch/overview";
import { UserError } from "../../errors.ts";
import { peopleIn, type PersonOfTenant, withoutPerson } from "../../provisioning/members.ts";
import type { Action, Subject } from "./action.ts";
import { type Beside, endOfAll, endsOf, lossOf, readBeside } from "./revoke-grant.ts";

const nameLimit = 100;

/** Creates it. `client` writes with the backend's own rights. */
export function createRemoveMember(client: KubeClient): Action {
  return {
    name: "remove-member",
    collection: "members",
    label: "Remove",
    async look(row, { signal }) {
      const [name = ""] = row.split("/");
      if (name === "") return undefined;
      const tenant = await client.find<KubeObject>(namespaces, { name }, { signal });
      const person = tenant && personOf(tenant, row);
      if (tenant === undefined || person === undefined) return undefined;
      const beside = await readBeside(client, { namespace: name, signal });
      const own = grantsOf(person, beside.records);
      const { resourceVersion } = tenant.metadata;
      return {
        ...wordsOf(tenant, person, own, beside),
        async write(options) {
          const annotations = withoutPerson(tenant, person);
          const patch = { metadata: { resourceVersion, annotations } };
          await client.mergePatch(namespaces, { name }, patch, options);
          await endGrants(client, own, options);
        },
      };
    },
  };
}

/** Returns the person of the row. App clusters of AppClusterBindings have no people. Throws `UserError` 409 if two have this row. */
function personOf(tenant: KubeObject, row: string): PersonOfTenant | undefined {
  const { name = "", annotations = {} } = tenant.metadata;
  if (annotations[identityAnnotation] === undefined || annotations[appClusterBindingAnnotation] !== undefined)
    return undefined;
  const found = peopleIn(tenant).filter((person) => memberRowId(name, person) === row);
  if (found.length > 1)
    throw new UserError(
      409,
      "Two members have the same name here.",
      "Nothing was changed. Use klutch revoke member.",
    );
  return found[0];
}

/** A founder whom a backend in Go wrote has no issuer. */
function grantsOf({ issuer, subject }: PersonOfTenant, records: readonly Grant[]): readonly Grant[] {
  return records.filter(
    ({ metadata, spec: { identity } }) =>
      metadata.deletionTimestamp === undefined &&
      identity.subject === subject &&
      (issuer === undefined || identity.issuer === issuer),
  );
}

/** Returns the subject without its write. */
export function wordsOf(
  tenant: KubeObject,
  person: PersonOfTenant,
  own: readonly Grant[],
  beside: Beside,
): Omit<Subject, "write"> {
  const { name = "", uid = "", resourceVersion = "" } = tenant.metadata;
  const [last] = own.toSorted((one, other) => (one.spec.boundAt < other.spec.boundAt ? 1 : -1));
  const who =
    displayName(last?.spec.identity.displayName) ??
    plainText(last?.spec.identity.user ?? person.subject, nameLimit);
  const names = own.map(({ metadata }) => metadata.name ?? "");
  const { ends, isEnd } = endsOf(names, beside);
  const { group, plural: resource } = grants;
  const versions = own.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]);
  return {
    needs: [
      { verb: "patch", group: "", resource: namespaces.plural, name },
      ...names.map((grant) => ({ verb: "delete", group, resource, namespace: name, name: grant })),
    ],
    tenant: name,
    title: `Remove ${who} from the app cluster of tenant ${name}`,
    consequences: [
      own.length === 0
        ? "They hold no Grant there."
        : `${own.length === 1 ? "Their Grant there is" : `Their ${own.length} Grants there are`} revoked.`,
      ends.length === 0 ? "The app cluster keeps all its APIs." : lossOf(ends),
      ...(isEnd ? [endOfAll] : []),
      "To keep them out of new app clusters, take their right to bind, or close their account at the identity provider.",
    ],
    state: JSON.stringify([uid, resourceVersion, versions, ends, isEnd]),
    isDone: false,
    did: `removed ${who} from the app cluster in the console`,
    apis: own.map(({ spec }) => spec.api),
  };
}

/** Throws `UserError` 503 that names the rest if one cannot be deleted. */
async function endGrants(
  client: KubeClient,
  own: readonly Grant[],
  options: { readonly signal: AbortSignal },
): Promise<void> {
  for (const { metadata } of own) {
    const { namespace, name = "", uid } = metadata;
    try {
      await client.delete(grants, { namespace, name }, { preconditions: { uid }, ...options });
    } catch (cause) {
      if (isNotFound(cause)) continue;
      // Another one was made by a bind at the same moment.
      const why = isConflict(cause) ? "was made again at the same moment" : "could not be deleted";
      throw new UserError(
        503,
        `The member is removed, but their Grant ${name} ${why}.`,
        "Revoke the rest on the page Grants.",
        { cause },
      );
    }
  }
}
