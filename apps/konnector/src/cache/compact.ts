/** What the cache of a bound resource keeps of each object: its digest, and its content while somebody has to look at it. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube";
import type { Digest } from "@klutch/sync";
import { Body, type BodyShelf } from "./body.ts";
import type { Keeper } from "./shared-cache.ts";

/** See the module comment. Has no `spec` or `status`, so it cannot be taken for the object. */
export interface Compact extends Digest {
  readonly metadata: ObjectMeta;
  readonly body: Body;
}

/** Keeps what came from the server on the shelf, without what `strip` takes away. What we wrote ourselves needs no second look. */
export function compactKeeper(
  shelf: BodyShelf,
  digest: (object: DynamicObject) => Digest,
  strip: (object: DynamicObject) => DynamicObject,
): Keeper<Compact> {
  return {
    seen: (object) => ({ ...digest(object), body: shelf.put(strip(object)) }),
    wrote: (object) => ({ ...digest(object), body: new Body() }),
    superseded: ({ body }) => body.drop(),
  };
}
