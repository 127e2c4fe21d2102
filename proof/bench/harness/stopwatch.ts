/** Watches of one resource in one cluster: what happens to its objects, and when one first satisfied a condition. Waiting with a limit. */
import { setTimeout as sleep } from "node:timers/promises";
import { isGone, type KubeClient } from "@klutch/kube";
import { type DynamicObject, keyOf, type ResourceType } from "@klutch/kube-core";
import { type FollowOptions, followObjects } from "@klutch/kube-testing";

/** Follows a resource until it is disposed; resolves after its list. Disposing throws when a version was compacted away. */
export async function startFollowing(
  client: KubeClient,
  type: ResourceType,
  options: Pick<FollowOptions, "namespace" | "limit" | "onChange">,
): Promise<AsyncDisposable> {
  const abort = new AbortController();
  const { promise: listed, resolve: onListed } = Promise.withResolvers<void>();
  const onFailure = (error: unknown): void => {
    if (isGone(error)) throw error;
  };
  const following = followObjects(client, type, { ...options, signal: abort.signal, onListed, onFailure });
  await Promise.race([listed, following]);
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
  const onChange: FollowOptions["onChange"] = (kind, object) => {
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
  };
  const watch = await startFollowing(client, type, { limit: 1, onChange });
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

/** The promise's value, or an error that names what was waited for. `details` is asked only then. */
export async function within<T>(
  promise: Promise<T>,
  timeoutMs: number,
  what: string,
  details: () => Promise<string>,
): Promise<T> {
  const over = new AbortController();
  const late = sleep(timeoutMs, undefined, over).then(async (): Promise<never> => {
    throw new Error(`waited ${timeoutMs / 1000} s for ${what}\n${await details()}`);
  });
  // It is given up when the promise was faster.
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    over.abort();
  }
}
