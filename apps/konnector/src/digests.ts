/** Digests that the caches of the two clusters keep of bound objects in place of their content. */
import {
  type CachePool,
  type DigestedObject,
  type DigestRules,
  withoutManagedFields,
} from "@klutch/kube-runtime";
import {
  consumerDigest,
  defaultMetadataRule,
  type Digest,
  isBound,
  isMarked,
  providerDigest,
  reduceManagedFields,
  type StatusView,
} from "@klutch/sync";

/** A bound object as a cache keeps it. */
export type BoundDigest = DigestedObject<Digest>;

/** The caches of one of the two clusters. */
export type ClusterCaches = CachePool<Digest>;

/** Rules for claims with this view. */
export function consumerDigests(view: StatusView): DigestRules<Digest> {
  return {
    digest: (object) => consumerDigest(object, defaultMetadataRule, view),
    strip: withoutManagedFields,
    isMarked,
  };
}

/** Rules for upstream objects. Part of `managedFields` stays, because it names the fields that our apply owns. */
export function providerDigests(view: StatusView): DigestRules<Digest> {
  return { digest: (object) => providerDigest(object, view), strip: reduceManagedFields, isMarked: isBound };
}

/** Most objects of one kind that are read from a provider in one scope, which is a namespace or the whole cluster. */
export const providerObjectsOfOneKind = 200_000;

/**
 * Memory that whole objects of one provider may take, about, in bytes: exports, mappings, ClusterBindings, claimed objects and events. A tenant has a
 * few MiB of them, and the agent 512 MiB for all providers.
 */
export const providerWeight: number = 48 * 1024 * 1024;
