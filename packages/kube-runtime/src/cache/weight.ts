/**
 * Weighs whole objects that caches keep of a stranger's server: their number alone is no bound, because each may be as large as its server
 * likes.
 */

/** Bytes of V8's heap that a value takes besides its text, about. */
const valueWeight = 32;
/** Deeper objects are not kept: what walks through them would use up the stack. */
const mostLevels = 200;

/** Returns about the bytes of memory that a JSON value takes; infinity for one that is nested too deep. */
export function weightOf(value: unknown, levels: number = mostLevels): number {
  if (typeof value === "string") return valueWeight + value.length;
  if (typeof value !== "object" || value === null) return valueWeight;
  if (levels === 0) return Number.POSITIVE_INFINITY;
  let weight = valueWeight;
  if (Array.isArray(value)) for (const item of value) weight += weightOf(item, levels - 1);
  else for (const [key, item] of Object.entries(value)) weight += key.length + weightOf(item, levels - 1);
  return weight;
}

/** The memory that several caches may use together. */
export class WeightBudget {
  readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes so much more, or gives it back when it is negative; false, and nothing is taken, when there is not enough. */
  take(weight: number): boolean {
    if (weight > 0 && this.#used + weight > this.limit) return false;
    this.#used += weight;
    return true;
  }
}
