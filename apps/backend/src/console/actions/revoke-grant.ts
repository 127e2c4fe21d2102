/** Revokes one Grant by its deletion. The controller of Grants does the rest, as for `kubectl delete grant`. */
import {
  type APIServiceExport,
  apiServiceExports,
  crdNameOf,
  displayName,
  type Grant,
  grants,
  plainText,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { grantsFor } from "../../authorization/grants.ts";
import { isRevokedExport } from "../../authorization/revoked-exports.ts";
import type { Action, Subject } from "./action.ts";

const [nameLimit, apiLimit] = [100, 200];

/** Creates it. `client` writes with the backend's own rights. */
export function createRevokeGrant(client: KubeClient): Action {
  return {
    name: "revoke-grant",
    collection: "grants",
    label: "Revoke",
    async look(row, { signal }) {
      const [namespace = "", name = "", ...rest] = row.split("/");
      if (namespace === "" || name === "" || rest.length > 0) return undefined;
      const grant = await client.find<Grant>(grants, { namespace, name }, { signal });
      if (grant === undefined) return undefined;
      const scope = { namespace, signal };
      const [records, exports] = await Promise.all([
        Array.fromAsync(client.listAll<Grant>(grants, scope)),
        Array.fromAsync(client.listAll<APIServiceExport>(apiServiceExports, scope)),
      ]);
      const preconditions = { uid: grant.metadata.uid, resourceVersion: grant.metadata.resourceVersion };
      return {
        ...wordsOf(grant, { records, exports }),
        write: async (options) =>
          void (await client.delete(grants, { namespace, name }, { preconditions, ...options })),
      };
    },
  };
}

/** Returns the subject without its write. Names are words of strangers: they are bounded here, and text on the page. */
export function wordsOf(
  { metadata, spec }: Grant,
  beside: { readonly records: readonly Grant[]; readonly exports: readonly APIServiceExport[] },
): Omit<Subject, "write"> {
  const { namespace = "", name = "", uid = "", resourceVersion = "", deletionTimestamp } = metadata;
  const { identity } = spec;
  const api = plainText(crdNameOf(spec.api), apiLimit);
  const who = displayName(identity.displayName) ?? plainText(identity.user, nameLimit);
  const others = beside.records.filter((one) => one.metadata.name !== name);
  const same = grantsFor(others, spec.api).length;
  const isLast = same === 0;
  const isEnd =
    isLast &&
    others.every((one) => one.metadata.deletionTimestamp !== undefined) &&
    beside.exports.every((one) => one.metadata.name === crdNameOf(spec.api) || isRevokedExport(one));
  return {
    needs: [{ verb: "delete", group: grants.group, resource: grants.plural, namespace, name }],
    tenant: namespace,
    title: `Revoke the Grant of ${who} for ${api} in tenant ${namespace}`,
    consequences: [
      isLast
        ? `It is the last Grant for ${api}: the app cluster loses this API. Its objects stay in the control plane, and are no longer synced. ` +
          "A kubectl bind by a person who may bind it gives the access back."
        : `The app cluster keeps ${api}: ${same === 1 ? "1 other Grant names" : `${same} other Grants name`} it.`,
      ...(isEnd ? ["No other API is left: the credentials of the app cluster end as well."] : []),
      `${who} stays a member of the app cluster, and can bind again while they have the right to.`,
    ],
    state: JSON.stringify([uid, resourceVersion, isLast, isEnd]),
    isDone: deletionTimestamp !== undefined,
    did: `revoked the Grant of ${who} for ${api} in the console`,
    apis: [spec.api],
  };
}
