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

/** Objects beside a Grant in its tenant. */
export interface Beside {
  readonly records: readonly Grant[];
  readonly exports: readonly APIServiceExport[];
}

/** Reads them at the API server. */
export async function readBeside(
  client: KubeClient,
  scope: { readonly namespace: string; readonly signal: AbortSignal },
): Promise<Beside> {
  const [records, exports] = await Promise.all([
    Array.fromAsync(client.listAll<Grant>(grants, scope)),
    Array.fromAsync(client.listAll<APIServiceExport>(apiServiceExports, scope)),
  ]);
  return { records, exports };
}

/** Returns the APIs without a Grant once those with these names are gone, and true if then nothing is left, as the controller of Grants decides. */
export function endsOf(
  names: readonly string[],
  { records, exports }: Beside,
): { readonly ends: readonly string[]; readonly isEnd: boolean } {
  const kept = records.filter(({ metadata }) => !names.includes(metadata.name ?? ""));
  const doomed = records.filter((one) => !kept.includes(one));
  const apis = doomed.filter(({ spec }) => grantsFor(kept, spec.api).length === 0);
  const ends = [...new Set(apis.map(({ spec }) => crdNameOf(spec.api)))].toSorted();
  const isEnd =
    ends.length > 0 &&
    kept.every(({ metadata }) => metadata.deletionTimestamp !== undefined) &&
    exports.every((one) => ends.includes(one.metadata.name ?? "") || isRevokedExport(one));
  return { ends, isEnd };
}

/** Says what the loss of APIs means. */
export function lossOf(ends: readonly string[]): string {
  const names = plainText(ends.join(", "), 4 * apiLimit);
  return (
    `The app cluster loses ${names}: objects stay in the control plane, and are no longer synced. ` +
    "A kubectl bind by a person who may bind gives the access back."
  );
}

export const endOfAll = "No other API is left: the credentials of the app cluster end as well.";

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
      const beside = await readBeside(client, { namespace, signal });
      const preconditions = { uid: grant.metadata.uid, resourceVersion: grant.metadata.resourceVersion };
      return {
        ...wordsOf(grant, beside),
        write: async (options) =>
          void (await client.delete(grants, { namespace, name }, { preconditions, ...options })),
      };
    },
  };
}

/** Returns the subject without its write. Names are words of strangers: they are bounded here, and text on the page. */
export function wordsOf({ metadata, spec }: Grant, beside: Beside): Omit<Subject, "write"> {
  const { namespace = "", name = "", uid = "", resourceVersion = "", deletionTimestamp } = metadata;
  const { identity } = spec;
  const api = plainText(crdNameOf(spec.api), apiLimit);
  const who = displayName(identity.displayName) ?? plainText(identity.user, nameLimit);
  const { ends, isEnd } = endsOf([name], beside);
  const isLast = ends.length > 0;
  const same = grantsFor(beside.records, spec.api).filter((one) => one.metadata.name !== name).length;
  return {
    needs: [{ verb: "delete", group: grants.group, resource: grants.plural, namespace, name }],
    tenant: namespace,
    title: `Revoke the Grant of ${who} for ${api} in tenant ${namespace}`,
    consequences: [
      isLast
        ? `It is the last Grant for ${api}. ${lossOf(ends)}`
        : `The app cluster keeps ${api}: ${same === 1 ? "1 other Grant names" : `${same} other Grants name`} it.`,
      ...(isEnd ? [endOfAll] : []),
      `${who} stays a member of the app cluster, and can bind again while they have the right to.`,
    ],
    state: JSON.stringify([uid, resourceVersion, isLast, isEnd]),
    isDone: deletionTimestamp !== undefined,
    did: `revoked the Grant of ${who} for ${api} in the console`,
    apis: [spec.api],
  };
}
