/** Counts the objects of all bound APIs in each namespace of the app cluster. */
import type { Cached, Informer } from "@klutch/kube-runtime";
import { type Count, NamespaceCount } from "./namespace-count.ts";

/** Counts each API from when it is added until it is removed. */
export class NamespacePopulation {
  readonly #counts = new Set<NamespaceCount>();
  readonly #onTurn: (namespace: string) => void;

  /** `onTurn` is called when a namespace gets its first object of an API or loses its last, of either kind. */
  constructor(onTurn: (namespace: string) => void) {
    this.#onTurn = onTurn;
  }

  /** Counts the objects of one API until that is disposed. */
  add<T extends Cached>(informer: Informer<T>): Disposable {
    const count = new NamespaceCount(this.#onTurn);
    this.#counts.add(count);
    const subscription = count.watch(informer);
    return {
      [Symbol.dispose]: () => {
        subscription[Symbol.dispose]();
        this.#counts.delete(count);
        for (const namespace of count.namespaces()) this.#onTurn(namespace);
      },
    };
  }

  /** Objects in the namespace; those of the cluster are in "". */
  of(namespace: string): Count {
    let all = 0;
    let own = 0;
    for (const count of this.#counts) {
      const one = count.of(namespace);
      all += one.all;
      own += one.own;
    }
    return { all, own };
  }
}
