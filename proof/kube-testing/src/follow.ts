/** Follows the objects of a resource by the client alone: what tests and benchmarks see must not come through the caches under test. */
import { setTimeout as sleep } from "node:timers/promises";
import { isGone, type KubeClient, type WatchOptions } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";

/** Options of `followObjects`. */
export interface FollowOptions extends Pick<WatchOptions, "namespace" | "idleTimeoutMs"> {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called for each object of a list and each event. An object that was deleted between two lists comes as it was last seen. */
  readonly onChange: (kind: "ADDED" | "MODIFIED" | "DELETED", object: DynamicObject) => void;
  /** Called after the first list: no later event is missed. */
  readonly onListed?: (() => void) | undefined;
  /** Learns of each list or watch that failed, and throws to end it. Default: it goes on. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Limits the list for those to whom only later events matter. */
  readonly limit?: number | undefined;
}

/** Resolves when the signal aborts. Servers end watches when they like; resuming loses nothing, unless the version was compacted away. */
export async function followObjects(
  client: KubeClient,
  type: ResourceType,
  { namespace, idleTimeoutMs, signal, onChange, onListed, onFailure, limit }: FollowOptions,
): Promise<void> {
  const present = new Map<string | undefined, DynamicObject>();
  const tell = (kind: "ADDED" | "MODIFIED" | "DELETED", object: DynamicObject): void => {
    if (kind === "DELETED") present.delete(object.metadata.uid);
    else present.set(object.metadata.uid, object);
    onChange(kind, object);
  };
  let from: string | undefined;
  while (!signal.aborted) {
    try {
      if (from === undefined) {
        const { items, resourceVersion } = await client.list<DynamicObject>(type, {
          namespace,
          limit,
          signal,
        });
        const uids = new Set(items.map(({ metadata }) => metadata.uid));
        for (const [uid, object] of present) if (!uids.has(uid)) tell("DELETED", object);
        for (const item of items) tell("ADDED", item);
        from = resourceVersion;
        onListed?.();
      }
      const options = { namespace, idleTimeoutMs, resourceVersion: from, signal };
      for await (const event of client.watch<DynamicObject>(type, options)) {
        if (event.type === "BOOKMARK") from = event.resourceVersion;
        else {
          tell(event.type, event.object);
          from = event.object.metadata.resourceVersion;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isGone(error)) from = undefined;
      onFailure?.(error);
      await sleep(100);
    }
  }
}
