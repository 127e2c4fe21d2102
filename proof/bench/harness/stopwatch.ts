/** Watches of one resource in one cluster: what happens to its objects, and when one first satisfied a condition. */
import { isGone, type KubeClient } from "@klutch/kube";
import { type DynamicObject, keyOf, type ResourceType } from "@klutch/kube-core";

/** Follows a resource from its list on, until it is disposed; that throws when a version was compacted away. `limit`: of the list. */
export async function followObjects(
  client: KubeClient,
  type: ResourceType,
  scope: { readonly namespace?: string; readonly limit?: number },
  onEvent: (kind: "ADDED" | "MODIFIED" | "DELETED", object: DynamicObject) => void,
): Promise<AsyncDisposable> {
  const abort = new AbortController();
  const { items, resourceVersion } = await client.list<DynamicObject>(type, scope);
  for (const item of items) onEvent("ADDED", item);
  let from = resourceVersion;
  const follow = async (): Promise<void> => {
    const { namespace } = scope;
    const options = { namespace, resourceVersion: from, signal: abort.signal };
    for await (const event of client.watch<DynamicObject>(type, options)) {
      if (event.type === "BOOKMARK") from = event.resourceVersion;
      else {
        from = event.object.metadata.resourceVersion ?? from;
        onEvent(event.type, event.object);
      }
    }
  };
  const following = (async () => {
    // Servers end watches after some minutes; resuming loses nothing.
    while (!abort.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (!abort.signal.aborted && isGone(error)) throw error;
      }
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      abort.abort();
      await following;
    },
  };
}

/** Waits for objects of one resource in one cluster. */
export interface Stopwatch extends AsyncDisposable {
  /** Resolves to the monotonic milliseconds of the first event for `key` that satisfies `matches`. Ask before you cause it. */
  seen(key: string, matches?: (object: DynamicObject) => boolean): Promise<number>;
  /** Resolves to the monotonic milliseconds of the deletion of `key`. Ask before you cause it. */
  gone(key: string): Promise<number>;
}

interface Waiter {
  /** Undefined waits for the deletion. */
  readonly matches: ((object: DynamicObject) => boolean) | undefined;
  readonly resolve: (at: number) => void;
}

/** Opens the watch from now on, as a client of that cluster sees it; resolves when the server has answered the first list. */
export async function startStopwatch(client: KubeClient, type: ResourceType): Promise<Stopwatch> {
  const waiters = new Map<string, readonly Waiter[]>();
  const watch = await followObjects(client, type, { limit: 1 }, (kind, object) => {
    const at = performance.now();
    const key = keyOf(object);
    const waiting = waiters.get(key);
    if (waiting === undefined) return;
    const isDone = ({ matches }: Waiter): boolean =>
      kind === "DELETED" ? matches === undefined : matches?.(object) === true;
    for (const { resolve } of waiting.filter(isDone)) resolve(at);
    const left = waiting.filter((waiter) => !isDone(waiter));
    if (left.length === 0) waiters.delete(key);
    else waiters.set(key, left);
  });
  const wait = (key: string, matches: Waiter["matches"]): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<number>();
    waiters.set(key, [...(waiters.get(key) ?? []), { matches, resolve }]);
    return promise;
  };
  return {
    seen: (key, matches = () => true) => wait(key, matches),
    gone: (key) => wait(key, undefined),
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
}
