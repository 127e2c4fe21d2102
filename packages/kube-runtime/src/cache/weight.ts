/**
 * Weighs whole objects that caches keep of a stranger's server: their number alone is no bound, because each may be as large as its server
 * likes.
 */

/** Bytes of V8's heap that a value takes besides its text, at most: an empty object. */
const valueWeight = 64;
/** Deeper objects are not kept: what walks through them would use up the stack. */
export const mostLevels = 200;

/** Bytes of memory; heavier objects are not kept: 1.5 MiB of text, which is all that API servers store, has about half. */
export const heaviest: number = 8 * 1024 * 1024;

/** Returns about the bytes of memory that a JSON value takes; infinity for one that is too heavy or nested too deep. */
export function weightOf(value: unknown): number {
  let weight = 0;
  const add = (part: unknown, levels: number): void => {
    weight += valueWeight;
    if (typeof part === "string") weight += part.length;
    if (typeof part !== "object" || part === null) return;
    if (levels === 0) weight = Number.POSITIVE_INFINITY;
    // Not by `Object.entries`: a stranger's object may have a million entries.
    for (const key in part) {
      if (weight > heaviest) return;
      if (!Array.isArray(part)) weight += key.length;
      add(Reflect.get(part, key), levels - 1);
    }
  };
  add(value, mostLevels);
  return weight > heaviest ? Number.POSITIVE_INFINITY : weight;
}

/** The memory that several caches may use together. */
export class WeightBudget {
  readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes so much more, or gives it back when it is negative. Returns false and takes nothing when too little is left. */
  take(weight: number): boolean {
    if (weight > 0 && this.#used + weight > this.limit) return false;
    this.#used += weight;
    return true;
  }
}
