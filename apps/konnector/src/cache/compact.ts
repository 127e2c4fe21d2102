/** What the cache of a bound resource keeps of each object: its digest, and its content while somebody has to look at it. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube";
import type { Digest } from "@klutch/sync";
import type { Body, BodyShelf } from "./body.ts";

/** See the module comment. Has no `spec` or `status`, so it cannot be taken for the object. */
export interface Compact extends Digest {
  readonly metadata: ObjectMeta;
  readonly body: Body;
}

/** Makes the compact form. */
export type Compactor = (object: DynamicObject) => Compact;

/** A compactor that keeps the whole object in the body, without what `strip` takes away. */
export function compactor(
  shelf: BodyShelf,
  digest: (object: DynamicObject) => Digest,
  strip: (object: DynamicObject) => DynamicObject,
): Compactor {
  return (object) => ({ ...digest(object), body: shelf.put(strip(object)) });
}
