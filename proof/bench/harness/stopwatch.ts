/** A watch as a stopwatch: reports when an object first satisfied a condition, as a client of that cluster would see it. */
import { isGone, type KubeClient } from "@klutch/kube";
import { type DynamicObject, keyOf, type ResourceType } from "@klutch/kube-core";

/** Waits for objects of one resource in one cluster. */
export interface Stopwatch extends AsyncDisposable {
  /** Monotonic milliseconds of the first event for `key` that satisfies `matches`. Ask before you cause it. */
  seen(key: string, matches?: (object: DynamicObject) => boolean): Promise<number>;
  /** Monotonic milliseconds of the deletion of `key`. Ask before you cause it. */
  gone(key: string): Promise<number>;
}

interface Waiter {
  /** Undefined waits for the deletion. */
  readonly matches: ((object: DynamicObject) => boolean) | undefined;
  readonly resolve: (at: number) => void;
}

/** Opens the watch from now on; resolves when the server has answered the first list. */
export async function startStopwatch(client: KubeClient, type: ResourceType): Promise<Stopwatch> {
  const abort = new AbortController();
  const waiters = new Map<string, Waiter[]>();
  const notify = (key: string, object: DynamicObject | undefined): void => {
    const at = performance.now();
    const waiting = waiters.get(key);
    if (waiting === undefined) return;
    const isDone = ({ matches }: Waiter): boolean =>
      object === undefined ? matches === undefined : matches?.(object) === true;
    for (const { resolve } of waiting.filter(isDone)) resolve(at);
    const left = waiting.filter((waiter) => !isDone(waiter));
    if (left.length === 0) waiters.delete(key);
    else waiters.set(key, left);
  };
  const wait = (key: string, matches: Waiter["matches"]): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<number>();
    waiters.set(key, [...(waiters.get(key) ?? []), { matches, resolve }]);
    return promise;
  };
  const page = await client.list<DynamicObject>(type, { limit: 1 });
  let resourceVersion = page.resourceVersion;
  const follow = async (): Promise<void> => {
    const events = client.watch<DynamicObject>(type, { resourceVersion, signal: abort.signal });
    for await (const event of events) {
      if (event.type === "BOOKMARK") {
        resourceVersion = event.resourceVersion;
        continue;
      }
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      notify(keyOf(event.object), event.type === "DELETED" ? undefined : event.object);
    }
  };
  const following = (async () => {
    // Servers end watches after some minutes; resuming loses nothing, unless the version has been compacted away.
    while (!abort.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (!abort.signal.aborted && isGone(error)) throw error;
      }
    }
  })();
  return {
    seen: (key, matches = () => true) => wait(key, matches),
    gone: (key) => wait(key, undefined),
    async [Symbol.asyncDispose]() {
      abort.abort();
      await following;
    },
  };
}
