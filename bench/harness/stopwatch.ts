/** A watch as a stopwatch: tells when an object first satisfied a condition, as a client of that cluster would see it. */
import { type DynamicObject, type KubeClient, keyOf, type ResourceType } from "@klutch/kube";

/** Waits for objects of one resource in one cluster. */
export interface Stopwatch extends AsyncDisposable {
  /** Monotonic milliseconds of the first event for `key` that satisfies `matches`. Ask before you cause it. */
  seen(key: string, matches: (object: DynamicObject) => boolean): Promise<number>;
}

interface Waiter {
  readonly key: string;
  readonly matches: (object: DynamicObject) => boolean;
  readonly resolve: (at: number) => void;
}

/** Opens the watch from now on; resolves when the server has answered the first list. */
export async function startStopwatch(client: KubeClient, type: ResourceType): Promise<Stopwatch> {
  const abort = new AbortController();
  const waiters = new Set<Waiter>();
  const page = await client.list<DynamicObject>(type, { limit: 1 });
  const follow = async (): Promise<void> => {
    const events = client.watch<DynamicObject>(type, {
      resourceVersion: page.resourceVersion,
      signal: abort.signal,
      timeoutSeconds: 3600,
    });
    for await (const event of events) {
      const at = performance.now();
      if (event.type === "BOOKMARK" || event.type === "DELETED") continue;
      const key = keyOf(event.object);
      for (const waiter of waiters) {
        if (waiter.key !== key || !waiter.matches(event.object)) continue;
        waiters.delete(waiter);
        waiter.resolve(at);
      }
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    seen(key, matches) {
      const { promise, resolve } = Promise.withResolvers<number>();
      waiters.add({ key, matches, resolve });
      return promise;
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await following;
    },
  };
}
