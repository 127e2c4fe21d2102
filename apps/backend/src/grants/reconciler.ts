/**
 * Revokes by the deletion of Grants: an API ends when the last Grant for it is deleted, and the account of an app cluster when nothing is left
 * that it may use. Each step can be repeated, and the finalizer goes last. APIs that were bound before there were Grants stay.
 *
 * | Grants left for the API | unrevoked exports left | step |
 * |---|---|---|
 * | some | – | none: the others go on |
 * | none | some | the export is marked, and gives no rights |
 * | none, and none for others | none | and the account is deleted, with its tokens |
 */
import {
  type APIServiceExport,
  apiServiceExports,
  binderName,
  crdNameOf,
  type Grant,
  grantFinalizer,
  grants,
} from "@klutch/api";
import { type KubeObject, namespaces, refOf, serviceAccounts, wholeSeconds } from "@klutch/kube-core";
import { isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import type { Reconcile } from "@klutch/kube-runtime";
import { type ControllerContext, isOperators } from "../controller-context.ts";
import { grantsFor } from "../authorization/grants.ts";
import { isRevokedExport, markRevoked } from "../authorization/revoked-exports.ts";

type Options = { readonly signal: AbortSignal };

/** Result of a deletion. */
type Revocation = "StillGranted" | "ApiRevoked" | "ClusterRevoked";

/** Keys are `namespace/name` of Grants. */
export function createGrantReconcile(context: ControllerContext): Reconcile {
  const { audit, caches, client } = context;
  return async (key, { signal, logger }) => {
    const grant = caches.grants.get(key);
    if (grant === undefined) return undefined;
    const { namespace = "" } = refOf(key);
    if (grant.metadata.deletionTimestamp === undefined) {
      await keepBinding(context, grant, { signal });
      return undefined;
    }
    if (!hasFinalizer(grant)) return undefined;
    const own = await client.find<KubeObject>(namespaces, { name: namespace }, { signal });
    // A tenant that goes takes everything along, and so does the kind.
    if (own !== undefined && !isGoing(own) && !isGoing(caches.crds.get(crdNameOf(kind)))) {
      const outcome = await revoke(context, grant, own, { signal });
      const { identity, api, clusterName } = grant.spec;
      logger.info("a Grant was deleted", { namespace, api: crdNameOf(api), outcome });
      audit.record({
        decision: "revoke",
        allowed: true,
        outcome,
        asker: { ...identity, clusterName },
        tenant: namespace,
        apis: [api],
        way: "operator",
      });
    }
    await setFinalizers(client, grant, without(grant), { signal });
    return undefined;
  };
}

/** Names the kind as its CustomResourceDefinition does. */
const kind = { resource: grants.plural, group: grants.group };

function isGoing(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

/** A living Grant has the finalizer, also one that an earlier release wrote, and its API is not revoked. */
async function keepBinding(context: ControllerContext, grant: Grant, options: Options): Promise<void> {
  const { client, caches } = context;
  const { namespace = "" } = grant.metadata;
  if (isGoing(caches.namespaces.get(namespace))) return;
  if (!hasFinalizer(grant))
    await setFinalizers(client, grant, [...(grant.metadata.finalizers ?? []), grantFinalizer], options);
  const exported = caches.exports.get(`${namespace}/${crdNameOf(grant.spec.api)}`);
  if (exported !== undefined && isRevokedExport(exported))
    await markRevoked(client, exported, undefined, options);
}

/** Live reads decide: what a cache does not show yet must not end an access. */
async function revoke(
  { client, clock }: ControllerContext,
  { metadata, spec }: Grant,
  own: KubeObject,
  options: Options,
): Promise<Revocation> {
  const { namespace = "" } = metadata;
  const records = await Array.fromAsync(client.listAll<Grant>(grants, { namespace, ...options }));
  if (grantsFor(records, spec.api).length > 0) return "StillGranted";
  const ref = { namespace, name: crdNameOf(spec.api) };
  const exported = await client.find<APIServiceExport>(apiServiceExports, ref, options);
  if (exported !== undefined && !isRevokedExport(exported))
    await markRevoked(client, exported, wholeSeconds(clock.now()), options);
  if (isOperators(own) || records.some((record) => !isGoing(record))) return "ApiRevoked";
  const all = await Array.fromAsync(
    client.listAll<APIServiceExport>(apiServiceExports, { namespace, ...options }),
  );
  if (!all.every(isRevokedExport)) return "ApiRevoked";
  // The next bind makes the account again. Until then its tokens are void, and the konnector's key opens nothing.
  await client.delete(serviceAccounts, { namespace, name: binderName }, options);
  return "ClusterRevoked";
}

function hasFinalizer({ metadata }: Grant): boolean {
  return metadata.finalizers?.includes(grantFinalizer) === true;
}

function without({ metadata }: Grant): readonly string[] {
  return (metadata.finalizers ?? []).filter((name) => name !== grantFinalizer);
}

async function setFinalizers(
  client: KubeClient,
  { metadata }: Grant,
  finalizers: readonly string[],
  options: Options,
): Promise<void> {
  const { namespace = "", name = "", resourceVersion } = metadata;
  try {
    await client.mergePatch(
      grants,
      { namespace, name },
      { metadata: { resourceVersion, finalizers } },
      options,
    );
  } catch (error) {
    // The change that was in between comes to the cache, and wakes the key again.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
