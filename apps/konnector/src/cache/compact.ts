/** What the cache of a bound resource keeps of each object: its digest, and its content while somebody has to look at it. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import type { Digest } from "@klutch/sync";
import { Body, type BodyShelf } from "./body.ts";
import type { Keeper } from "./shared-cache.ts";

/** See the module comment. Has no `spec` or `status`, so it cannot be taken for the object. */
export interface Compact extends Digest {
  readonly metadata: ObjectMeta;
  readonly body: Body;
}

/** What `compactKeeper` needs. */
export interface CompactKeeperOptions {
  readonly shelf: BodyShelf;
  readonly digest: (object: DynamicObject) => Digest;
  /** Takes away what nobody needs. */
  readonly strip: (object: DynamicObject) => DynamicObject;
  /** Whether the object bears our mark. */
  readonly isMarked: (object: DynamicObject) => boolean;
}

/**
 * Keeps what came from the server on the shelf. What we wrote ourselves needs no second look. Neither does, most probably, what bears
 * our mark when this process sees it first: it was in sync before, and what is not is read again.
 */
export function compactKeeper({ shelf, digest, strip, isMarked }: CompactKeeperOptions): Keeper<Compact> {
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
