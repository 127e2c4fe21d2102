/** A cache that keeps of each object its digest, and its content while somebody has to look at it. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { Body, type BodyShelf } from "./body.ts";
import type { Keeper } from "./shared-cache.ts";

/** An object without its content. */
export interface ObjectDigest {
  readonly metadata: ObjectMeta;
  /** Equal for two versions in which nothing that matters has changed, apart from the status. */
  readonly content: string;
  /** Undefined when there is no status. */
  readonly status: string | undefined;
}

/** The digest `D` of an object, and its content for as long as somebody needs it. Has no `spec`, so it cannot be taken for the object. */
export type Compact<D extends ObjectDigest = ObjectDigest> = D & { readonly body: Body };

/** How the objects of one cluster are digested. */
export interface DigestRules<D extends ObjectDigest> {
  readonly digest: (object: DynamicObject) => D;
  /** Takes away what nobody needs of the content. */
  readonly strip: (object: DynamicObject) => DynamicObject;
  /** Whether the object was in sync with what it belongs to when the process before this one ended, as far as it can tell. */
  readonly isMarked: (object: DynamicObject) => boolean;
}

/**
 * Keeps what came from the server on the shelf. What we wrote ourselves needs no second look. Neither does, most probably, what bears
 * our mark when this process sees it first: it was in sync before, and what is not is read again.
 */
export function compactKeeper<D extends ObjectDigest>(
  shelf: BodyShelf,
  { digest, strip, isMarked }: DigestRules<D>,
): Keeper<Compact<D>> {
  return {
    seen: (object, isNews) => ({
      ...digest(object),
      body: isNews || !isMarked(object) ? shelf.put(strip(object)) : new Body(),
    }),
    wrote: (object) => ({ ...digest(object), body: new Body() }),
    superseded: ({ body }) => body.drop(),
    isSame: (kept, reread) => {
      const isSame = kept.content === reread.content && kept.status === reread.status;
      if (isSame) reread.body.drop();
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
