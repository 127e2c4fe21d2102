/** Counts the objects of one cache in each namespace: all of them, and those made in the app cluster. Cluster-scoped objects count under "". */
import type { ObjectMeta } from "@klutch/kube-core";
import type { Cached, Informer } from "@klutch/kube-runtime";
import { isAdopted } from "@klutch/sync";

/** Objects of a namespace. */
export interface Count {
  readonly all: number;
  /** Made in the app cluster, not brought by the provider. */
  readonly own: number;
}

const none: Count = { all: 0, own: 0 };

/** Counts what the caches show, no more: right only when they are filled. */
export class NamespaceCount {
  readonly #counts = new Map<string, Count>();
  readonly #onTurn: (namespace: string) => void;

  /** `onTurn` is called when a namespace gets its first object or loses its last, of either kind. */
  constructor(onTurn: (namespace: string) => void) {
    this.#onTurn = onTurn;
  }

  /** Counts from now on, starting with the cached objects. */
  watch<T extends Cached>(informer: Informer<T>): Disposable {
    return informer.onChange((change) => {
      const { metadata } = change.object;
      if (change.type === "added") this.#add(metadata, 1, ownOf(metadata));
      else if (change.type === "deleted") this.#add(metadata, -1, -ownOf(metadata));
      else this.#add(metadata, 0, ownOf(metadata) - ownOf(change.previous.metadata));
    });
  }

  of(namespace: string): Count {
    return this.#counts.get(namespace) ?? none;
  }

  /** Returns the namespaces that hold something. */
  namespaces(): readonly string[] {
    return [...this.#counts.keys()];
  }

  #add({ namespace = "" }: ObjectMeta, all: number, own: number): void {
    if (all === 0 && own === 0) return;
    const before = this.of(namespace);
    const after = { all: before.all + all, own: before.own + own };
    if (after.all === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, after);
    const isTurn = (kind: keyof Count): boolean => (before[kind] === 0) !== (after[kind] === 0);
    if (isTurn("all") || isTurn("own")) this.#onTurn(namespace);
  }
}

const ownOf = (metadata: ObjectMeta): number => (isAdopted({ metadata }) ? 0 : 1);
