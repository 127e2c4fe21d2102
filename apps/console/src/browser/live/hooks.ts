/** Gives components what the store holds. */
import type { Collection, RowOf, Viewer } from "@klutch/overview/console-wire";
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Explanation } from "@klutch/overview/explanation";
import { type ClaimKey, fetchExplanation, wordsOf } from "./requests.ts";
import { type Connection, ConsoleStore, type Table } from "./store.ts";

export const StoreContext: React.Context<ConsoleStore> = createContext(new ConsoleStore());

export function useStore(): ConsoleStore {
  return useContext(StoreContext);
}

export function useViewer(): Viewer | undefined {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, store.viewer);
}

export function useConnection(): Connection {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, store.connection);
}

/** Rows of one collection with their type. */
export interface Rows<C extends Collection> extends Omit<Table, "rows"> {
  readonly rows: readonly RowOf[C][];
}

/** Loads the collection when it is first wanted, and renders again whenever one of its rows changed. */
export function useRows<C extends Collection>(collection: C): Rows<C> {
  const store = useStore();
  useEffect(() => {
    store.want(collection);
  }, [store, collection]);
  // The store keeps each row under the collection that it was decoded for.
  return useSyncExternalStore(store.subscribe, () => store.table(collection)) as Rows<C>;
}

/** The way of a claim: loading, there, or words why not. */
export type Way =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly explanation: Explanation }
  | { readonly state: "failed"; readonly words: ReturnType<typeof wordsOf> };

/** Asks again whenever `version` changes, which is the claim's row: a change of the row is a change on the way. The old way stays meanwhile. */
export function useWay({ api, tenant, namespace, name }: ClaimKey, version: unknown): Way {
  const [way, setWay] = useState<Way>({ state: "loading" });
  useEffect(() => setWay({ state: "loading" }), [api, tenant, namespace, name]);
  useEffect(() => {
    const controller = new AbortController();
    fetchExplanation({ api, tenant, namespace, name }, controller.signal).then(
      (explanation) => setWay({ state: "ready", explanation }),
      (error: unknown) => {
        if (!controller.signal.aborted) setWay({ state: "failed", words: wordsOf(error) });
      },
    );
    return () => controller.abort();
  }, [api, tenant, namespace, name, version]);
  return way;
}
