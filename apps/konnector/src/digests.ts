/** What the caches of the two clusters keep of bound objects in place of their content. */
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
} from "@klutch/sync";

/** A bound object as a cache keeps it. */
export type BoundDigest = DigestedObject<Digest>;

/** The caches of one of the two clusters. */
export type ClusterCaches = CachePool<Digest>;

/** Of claims. */
export const consumerDigests: DigestRules<Digest> = {
  digest: (object) => consumerDigest(object, defaultMetadataRule),
  strip: withoutManagedFields,
  isMarked,
};

/** Of upstream objects. Which fields our apply holds is read from `managedFields`, so a part of them stays. */
export const providerDigests: DigestRules<Digest> = {
  digest: providerDigest,
  strip: reduceManagedFields,
  isMarked: isBound,
};

/** So many objects of one kind are taken from a provider in one scope, which is a namespace or the whole cluster. */
export const providerObjectsOfOneKind = 200_000;
