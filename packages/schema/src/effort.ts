/**
 * Limits the work of reading a schema. Schemas come from strangers, and some are made to keep their reader busy: every walk through one
 * spends steps, and stops when none are left.
 */

/** A schema or a value asks for more work than it is given. */
export class EffortError extends Error {
  readonly code = "Effort";

  constructor() {
    super("the schema asks for more work than it is given");
    this.name = "EffortError";
  }
}

/** A purse of steps; one is about a microsecond. */
export class Effort {
  #left: number;
  #leftOfPart: number = Number.POSITIVE_INFINITY;

  /** Default: no limit, for schemas of our own. */
  constructor(steps: number = Number.POSITIVE_INFINITY) {
    this.#left = steps;
  }

  /** Takes steps out. Throws `EffortError` when there are too few. */
  spend(steps: number): void {
    this.#left -= steps;
    this.#leftOfPart -= steps;
    if (this.#left < 0 || this.#leftOfPart < 0) throw new EffortError();
  }

  /** Begins a new part of the work, which may spend this number of steps. */
  startPart(steps: number): void {
    this.#leftOfPart = steps;
  }

  /** True if no steps are left for any part. */
  get isSpent(): boolean {
    return this.#left < 0;
  }
}
