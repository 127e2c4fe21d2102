/** The reads of a client that follow from its others, the same for every client. */
import type { KubeObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { isNotFound } from "./errors.ts";
import { listPages } from "./pages.ts";
import type { KubeClient, ListOptions, ReadOptions } from "./types.ts";

/** `find` and `listAll` by way of `get` and `list`. */
export function derivedReads({
  get,
  list,
}: Pick<KubeClient, "get" | "list">): Pick<KubeClient, "find" | "listAll"> {
  return {
    async find<T extends KubeObject>(type: ResourceType, ref: ObjectRef, options?: ReadOptions) {
      try {
        return await get<T>(type, ref, options);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async *listAll<T extends KubeObject>(type: ResourceType, options?: ListOptions) {
      for await (const { items } of listPages<T>({ list }, type, options)) yield* items;
    },
  };
}
