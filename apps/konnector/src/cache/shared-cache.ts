/**
 * One informer, shared by all who need its resource and scope, that shows this process its own writes at once. Without that, a
 * reconcile that runs before the watch delivers our write would do the same write again.
 */
import { type Clock, type DynamicObject, keyOf, type ObjectRef } from "@klutch/kube";
import type { Cached, Change, Informer } from "@klutch/kube-runtime";
import { isNewer } from "./resource-version.ts";

interface Written<T> {
  readonly object: T;
  readonly at: number;
}

/** After this the cache is believed again: the write may have been undone between two lists, unseen. */
const overlayLifetimeMs = 30_000;

/** See the module comment. `T` is what is kept of an object. */
export class SharedCache<T extends Cached = DynamicObject> implements AsyncDisposable {
  readonly informer: Informer<T>;
  readonly #clock: Clock;
  readonly #keep: (object: DynamicObject) => T;
  readonly #written = new Map<string, Written<T>>();
  readonly #subscription: Disposable;

  /** `keep` makes of an answer what the informer makes of an event. */
  constructor(informer: Informer<T>, keep: (object: DynamicObject) => T, clock: Clock) {
    this.informer = informer;
    this.#keep = keep;
    this.#clock = clock;
    this.#subscription = informer.onChange((change) => this.#seen(change));
  }

  /** The newest known state of the object, frozen in meaning: never change it. */
  get(key: string): T | undefined {
    const cached = this.informer.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return cached;
    const isObsolete =
      this.#clock.monotonic() - written.at > overlayLifetimeMs ||
      (cached !== undefined && !isNewer(written.object, cached));
    if (!isObsolete) return written.object;
    this.#written.delete(key);
    return cached;
  }

  /** Remembers what a write of ours answered, until the watch has caught up. */
  wrote(object: DynamicObject): void {
    const key = keyOf(object);
    const cached = this.informer.get(key);
    if (cached !== undefined && !isNewer(object, cached)) return;
    this.#written.set(key, { object: this.#keep(object), at: this.#clock.monotonic() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    await this.informer[Symbol.asyncDispose]();
  }

  #seen(change: Change<T>): void {
    const written = this.#written.get(change.key);
    if (written === undefined) return;
    const isSame = written.object.metadata.uid === change.object.metadata.uid;
    const isCaughtUp = change.type === "deleted" ? isSame : !isNewer(written.object, change.object);
    if (isCaughtUp) this.#written.delete(change.key);
  }
}

/** The key under which caches hold the object of this reference. */
export function keyOfRef({ namespace, name }: ObjectRef): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
