/**
 * One informer, shared by all who need its resource and scope, that shows this process its own writes at once. Without that, a
 * reconcile that runs before the watch delivers our write would do the same write again, and one that runs while a slow watch replays
 * older events would write an older status. An own write is shown until the watch has caught up, or until a complete list of a later
 * version does not have it.
 */
import { type DynamicObject, keyOf } from "@klutch/kube-core";
import type { Informer } from "./informer.ts";
import { isNewer, isNewerVersion } from "./resource-version.ts";
import type { Cached, Change } from "./store.ts";

/** So many of the last deletions are remembered, for answers that come later than the event of the deletion. */
const buriedLimit = 1_000;

/** Decides what is kept of an object. */
export interface Keeper<T> {
  /** Of one that a list or an event shows. `isNews` is false for what the first list shows. */
  readonly seen: (object: DynamicObject, isNews: boolean) => T;
  /** Of the answer to a write of ours. */
  readonly wrote: (object: DynamicObject) => T;
  /** A later version has taken the place of this one in the informer, or the object is gone. */
  readonly superseded: (kept: T) => void;
  /** Whether an object that was read anew at its version is as it was kept. Default: only when it is the same JSON. */
  readonly isSame?: ((kept: T, reread: T) => boolean) | undefined;
}

/** See the module comment. `T` is what is kept of an object. */
export class SharedCache<T extends Cached = DynamicObject> implements AsyncDisposable {
  readonly informer: Informer<T>;
  readonly #keeper: Keeper<T>;
  readonly #written = new Map<string, T>();
  /** UIDs of objects that were seen to go, by key; oldest first. */
  readonly #buried = new Map<string, string | undefined>();
  readonly #vanishedHandlers = new Set<(key: string, object: T) => void>();
  readonly #subscriptions = new DisposableStack();
  #lastListed: string | undefined;

  /** `open` makes the informer, which keeps what `transform` makes of an object. */
  constructor(open: (transform: (object: DynamicObject) => T) => Informer<T>, keeper: Keeper<T>) {
    this.#keeper = keeper;
    this.informer = open((object) => this.#echoed(object) ?? keeper.seen(object, this.informer.synced));
    this.#subscriptions.use(this.informer.onChange((change) => this.#seen(change)));
    this.#subscriptions.use(this.informer.onListed((resourceVersion) => this.#listed(resourceVersion)));
  }

  /** Calls `handler` for an object that only an own write had shown, and that a list does not have: it is gone without an event. */
  onVanished(handler: (key: string, object: T) => void): Disposable {
    this.#vanishedHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#vanishedHandlers.delete(handler) };
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
    if (cached === undefined && this.#buried.has(key) && this.#buried.get(key) === object.metadata.uid)
      return;
    this.#written.set(key, this.#keeper.wrote(object));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose();
    await this.informer[Symbol.asyncDispose]();
  }

  /** The event of our own write shows what its answer has shown. */
  #echoed(object: DynamicObject): T | undefined {
    const written = this.#written.get(keyOf(object));
    const { uid, resourceVersion } = object.metadata;
    const isEcho = written?.metadata.uid === uid && written?.metadata.resourceVersion === resourceVersion;
    return isEcho ? written : undefined;
  }

  #seen(change: Change<T>): void {
    if (change.type === "updated") this.#keeper.superseded(change.previous);
    if (change.type === "deleted") {
      this.#keeper.superseded(change.object);
      this.#bury(change.key, change.object.metadata.uid);
    }
    const written = this.#written.get(change.key);
    if (written === undefined) return;
    const isSame = written.metadata.uid === change.object.metadata.uid;
    const isCaughtUp = change.type === "deleted" ? isSame : !isNewer(written, change.object);
    if (isCaughtUp) this.#written.delete(change.key);
  }

  #bury(key: string, uid: string | undefined): void {
    this.#buried.delete(key);
    this.#buried.set(key, uid);
    const [oldest] = this.#buried.keys();
    if (this.#buried.size > buriedLimit && oldest !== undefined) this.#buried.delete(oldest);
  }

  #listed(resourceVersion: string): void {
    // A server that was restored from a backup does not know what was written after it.
    const isRestored = this.#lastListed !== undefined && isNewerVersion(this.#lastListed, resourceVersion);
    this.#lastListed = resourceVersion;
    for (const [key, object] of this.#written) {
      if (!isRestored && isNewerVersion(object.metadata.resourceVersion, resourceVersion)) continue;
      this.#written.delete(key);
      if (this.informer.get(key) !== undefined) continue;
      for (const handler of this.#vanishedHandlers) handler(key, object);
    }
  }
}
