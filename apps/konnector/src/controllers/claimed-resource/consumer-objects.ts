/**
 * The app cluster's objects of one claimed resource: one watch, or one for each name where the claims give names, so that the agent needs no
 * right to read the others (designs/0019).
 */
import { type DynamicObject, type ObjectRef, refOf } from "@klutch/kube-core";
import { type InformerHandle, objectsIn, type ReadYourWritesCache } from "@klutch/kube-runtime";

/** Open until it is disposed. */
export class ConsumerObjects implements AsyncDisposable {
  /** By name; the only one, without a name, has all objects. */
  readonly #handles: ReadonlyMap<string | undefined, InformerHandle>;

  /** `open` opens the watch of a field selector, of everything without one. */
  constructor(open: (fieldSelector?: string) => InformerHandle, names: readonly string[] | undefined) {
    this.#handles =
      names === undefined
        ? new Map([[undefined, open()]])
        : new Map(names.map((name) => [name, open(`metadata.name=${name}`)]));
  }

  get caches(): readonly ReadYourWritesCache[] {
    return [...this.#handles.values()].map(({ cache }) => cache);
  }

  /** Returns undefined for an object that is not cached, and for one of another name. */
  get(key: string): DynamicObject | undefined {
    return this.#cacheOf(refOf(key))?.get(key);
  }

  /** Takes over what the server answered to a write. */
  wrote(object: DynamicObject): void {
    this.#cacheOf({ name: object.metadata.name ?? "" })?.wrote(object);
  }

  /** The cached objects of a namespace; all without one. */
  in(namespace: string | undefined): readonly DynamicObject[] {
    return this.caches.flatMap((cache) => [...objectsIn(cache, namespace)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#handles.values()].map((handle) => handle[Symbol.asyncDispose]()));
  }

  #cacheOf({ name }: Pick<ObjectRef, "name">): ReadYourWritesCache | undefined {
    return (this.#handles.get(undefined) ?? this.#handles.get(name))?.cache;
  }
}
