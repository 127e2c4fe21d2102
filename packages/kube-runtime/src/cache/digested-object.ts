/** A cache that keeps of each object its digest, and its content while somebody has to read it. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { Payload, type PayloadCache } from "./payload.ts";
import type { CachePolicy } from "./read-your-writes-cache.ts";

/** An object without its content. */
export interface ObjectDigest {
  readonly metadata: ObjectMeta;
  /** Equal for two versions in which nothing that matters has changed, apart from the status. */
  readonly content: string;
  /** Undefined when there is no status. */
  readonly status: string | undefined;
}

/** The digest `D` of an object, and its content for as long as somebody needs it. Has no `spec`, so it cannot be taken for the object. */
export type DigestedObject<D extends ObjectDigest = ObjectDigest> = D & { readonly payload: Payload };

/** Rules for digesting the objects of one cluster. */
export interface DigestRules<D extends ObjectDigest> {
  readonly digest: (object: DynamicObject) => D;
  /** Removes the unneeded part of the content. */
  readonly strip: (object: DynamicObject) => DynamicObject;
  /** True if the object was in sync with its counterpart when the previous process ended, as far as is known. */
  readonly isMarked: (object: DynamicObject) => boolean;
}

/**
 * Keeps the payload of what came from the server. What we wrote ourselves needs no second comparison. Neither does, most probably, what bears
 * our mark when this process sees it first: it was in sync before; others are read again.
 */
export function digestPolicy<D extends ObjectDigest>(
  payloadCache: PayloadCache,
  { digest, strip, isMarked }: DigestRules<D>,
): CachePolicy<DigestedObject<D>> {
  return {
    transform: (object, isInInitialList) => ({
      ...digest(object),
      payload: !isInInitialList || !isMarked(object) ? payloadCache.add(strip(object)) : new Payload(),
    }),
    onLocalWrite: (object) => ({ ...digest(object), payload: new Payload() }),
    onEvict: ({ payload }) => payload.drop(),
    isSame: (kept, reread) => {
      const isSame = kept.content === reread.content && kept.status === reread.status;
      if (isSame) reread.payload.drop();
      return isSame;
    },
  };
}

/** The object without `managedFields`, which are half of most objects. */
export function withoutManagedFields(object: DynamicObject): DynamicObject {
  return object.metadata.managedFields === undefined
    ? object
    : { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}
