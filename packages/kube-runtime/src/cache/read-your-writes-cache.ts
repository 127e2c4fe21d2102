/** An informer that shows this process its own writes at once. */
import { type DynamicObject, keyOf } from "@klutch/kube-core";
import type { Informer } from "./informer.ts";
import { isNewer, isNewerVersion } from "./resource-version.ts";
import type { Cached, Change } from "./store.ts";

/** Number of the last deletions that are remembered, for answers that come later than the event of the deletion. */
const tombstoneLimit = 1_000;

/** Rules by which a cache makes the `T` that it keeps from an object. */
export interface CachePolicy<T> {
  /** Converts an object from a list or an event. `isInInitialList`: the first list shows it. */
  readonly transform: (object: DynamicObject, isInInitialList: boolean) => T;
  /** Converts the answer to a write of this process. */
  readonly onLocalWrite: (object: DynamicObject) => T;
  /** A later version has taken the place of this one in the informer, or the object is gone. */
  readonly onEvict: (kept: T) => void;
  /** Returns true if an object that was read again at its version is unchanged. Default: only when it is the same JSON. */
  readonly isSame?: ((kept: T, reread: T) => boolean) | undefined;
}

/**
 * One informer, shared by all who need its resource and scope, and the writes of this process on top of it. Without these, a reconcile
 * that runs before the watch delivers our write would do the same write again, and one that runs while a slow watch replays older
 * events would write an older status. An own write is shown until the watch has caught up, or until a complete list of a later version
 * does not have it. It does not wait for anything and does not read: writers call `wrote`. `T` is the kept form of an
 * object.
 */
export class ReadYourWritesCache<T extends Cached = DynamicObject> implements AsyncDisposable {
  readonly informer: Informer<T>;
  readonly #policy: CachePolicy<T>;
  readonly #written = new Map<string, T>();
  /** UIDs of objects that were seen to go, by key; oldest first. */
  readonly #tombstones = new Map<string, string | undefined>();
  readonly #missedDeleteHandlers = new Set<(key: string, object: T) => void>();
  readonly #subscriptions = new DisposableStack();
  #lastListed: string | undefined;

  /** `open` makes the informer, which keeps what `transform` makes of an object. */
  constructor(open: (transform: (object: DynamicObject) => T) => Informer<T>, policy: CachePolicy<T>) {
    this.#policy = policy;
    this.informer = open((object) => {
      const written = this.#written.get(keyOf(object));
      return isOwnWrite(object, written) ? written : policy.transform(object, !this.informer.synced);
    });
    this.#subscriptions.use(this.informer.onChange((change) => this.#changed(change)));
    this.#subscriptions.use(this.informer.onListed((resourceVersion) => this.#listed(resourceVersion)));
  }

  /** Calls `handler` for an object that only an own write had shown, and that a list does not have: it is gone without an event. */
  onMissedDelete(handler: (key: string, object: T) => void): Disposable {
    this.#missedDeleteHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#missedDeleteHandlers.delete(handler) };
  }

  /** The newest known state of the object, frozen in meaning: never change it. */
  get(key: string): T | undefined {
    const cached = this.informer.get(key);
    const written = this.#written.get(key);
    if (written === undefined || (cached !== undefined && !isNewer(written, cached))) return cached;
    return written;
  }

  /** Remembers what a write of ours answered, until the watch has caught up. */
  wrote(object: DynamicObject): void {
    const key = keyOf(object);
    const cached = this.informer.get(key);
    if (cached !== undefined && !isNewer(object, cached)) return;
    // The answer was overtaken by the event that the object is gone.
    if (
      cached === undefined &&
      this.#tombstones.has(key) &&
      this.#tombstones.get(key) === object.metadata.uid
    )
      return;
    const kept = this.#policy.onLocalWrite(object);
    // The answer was overtaken by a list that does not have the object any more, and no event will say so.
    if (cached === undefined && this.#isListed(object)) this.#missed(key, kept);
    else this.#written.set(key, kept);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose();
    await this.informer[Symbol.asyncDispose]();
  }

  #changed(change: Change<T>): void {
    if (change.type === "updated") this.#policy.onEvict(change.previous);
    if (change.type === "deleted") {
      this.#policy.onEvict(change.object);
      this.#addTombstone(change.key, change.object.metadata.uid);
    }
    const written = this.#written.get(change.key);
    if (written === undefined) return;
    const isSame = written.metadata.uid === change.object.metadata.uid;
    const isCaughtUp = change.type === "deleted" ? isSame : !isNewer(written, change.object);
    if (isCaughtUp) this.#written.delete(change.key);
  }

  #addTombstone(key: string, uid: string | undefined): void {
    this.#tombstones.delete(key);
    this.#tombstones.set(key, uid);
    const [oldest] = this.#tombstones.keys();
    if (this.#tombstones.size > tombstoneLimit && oldest !== undefined) this.#tombstones.delete(oldest);
  }

  /** Returns true if the last list would have the object at this version. */
  #isListed({ metadata }: DynamicObject): boolean {
    return this.#lastListed !== undefined && !isNewerVersion(metadata.resourceVersion, this.#lastListed);
  }

  #missed(key: string, object: T): void {
    for (const handler of this.#missedDeleteHandlers) handler(key, object);
  }

  #listed(resourceVersion: string): void {
    // A server that was restored from a backup does not know what was written after it.
    const isRestored = this.#lastListed !== undefined && isNewerVersion(this.#lastListed, resourceVersion);
    this.#lastListed = resourceVersion;
    for (const [key, object] of this.#written) {
      if (!isRestored && isNewerVersion(object.metadata.resourceVersion, resourceVersion)) continue;
      this.#written.delete(key);
      if (this.informer.get(key) === undefined) this.#missed(key, object);
    }
  }
}

/** Returns true if the event shows the same as the answer to our own write. */
function isOwnWrite<T extends Cached>(event: DynamicObject, written: T | undefined): written is T {
  if (written === undefined) return false;
  const { uid, resourceVersion } = written.metadata;
  return uid === event.metadata.uid && resourceVersion === event.metadata.resourceVersion;
}
