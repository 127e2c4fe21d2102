/** Numbers at backup managers that managed resources have, also those that this process has just written. */
import type { TakenIds } from "../backup-manager/made-once.ts";

/** Of one kind. Numbers belong to one ProviderConfig. */
export class TakenNumbers {
  readonly #written = new Map<string, Map<number, string>>();

  /** As the managed resource with this UID sees them. `cached`: numbers and owners' UIDs that the caches show. */
  takenBy(config: string, uid: string, cached: () => Iterable<readonly [number, string]>): TakenIds {
    return {
      others: () => this.#others(config, uid, new Map(cached())),
      add: (id) => {
        const written = this.#written.get(config) ?? new Map<number, string>();
        this.#written.set(config, written.set(id, uid));
      },
    };
  }

  #others(config: string, uid: string, cached: ReadonlyMap<number, string>): ReadonlySet<number> {
    const written = this.#written.get(config) ?? new Map<number, string>();
    // What the caches show needs not be remembered.
    for (const id of written.keys()) if (cached.has(id)) written.delete(id);
    const others = [...cached, ...written].filter(([, owner]) => owner !== uid);
    return new Set(others.map(([id]) => id));
  }
}
