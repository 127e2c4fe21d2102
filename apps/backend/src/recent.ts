/**
 * Remembers for a while which objects were in their wanted state. A login with ten APIs changes its tenant many times in a moment, and each time the tenant's
 * objects would be read again. Changes by other programs are repaired as before, once the memory is over.
 */
import { createHash } from "node:crypto";
import type { Clock } from "@klutch/kube";

const freshMs = 30_000;

/** Memory about the objects of one owner. */
export interface Recent {
  /** Returns true if `state`, or any without one, was remembered last for the object, and in the last 30 seconds. */
  has(object: string, state?: string): boolean;
  /** Remembers it; undefined forgets the object. */
  set(object: string, state: string | undefined): void;
}

interface Entry {
  readonly digest: string;
  readonly at: number;
}

/** Belongs to one process, and is bounded by what that process did in a minute. */
export class RecentStates {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #entries = new Map<string, Entry>();
  #sweptAt = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The number of remembered objects. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the memory of an owner by its UID, so that an owner of the same name that was made again begins without one. */
  of(uid: string | undefined): Recent | undefined {
    if (uid === undefined) return undefined;
    const keyOf = (object: string): string => `${uid} ${object}`;
    return {
      has: (object, state) => {
        const entry = this.#entries.get(keyOf(object));
        if (entry === undefined || !this.#isFresh(entry)) return false;
        return state === undefined || entry.digest === digestOf(state);
      },
      set: (object, state) => {
        this.#sweep();
        if (state === undefined) this.#entries.delete(keyOf(object));
        else this.#entries.set(keyOf(object), { digest: digestOf(state), at: this.#clock.monotonic() });
      },
    };
  }

  #isFresh({ at }: Entry): boolean {
    return this.#clock.monotonic() - at < freshMs;
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    if (now - this.#sweptAt < freshMs) return;
    this.#sweptAt = now;
    for (const [key, entry] of this.#entries) if (!this.#isFresh(entry)) this.#entries.delete(key);
  }
}

function digestOf(state: string): string {
  return createHash("sha256").update(state).digest("base64");
}
