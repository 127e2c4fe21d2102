/** Sliding minute in which deletions are counted. */
import type { Clock } from "@klutch/kube";

/** Length of the window. */
export const minuteMs = 60_000;

/** Counts events of the last minute, in monotonic time. */
export class LastMinute {
  readonly #clock: Pick<Clock, "monotonic">;
  #times: number[] = [];

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Number of events that are less than a minute old. */
  get count(): number {
    const now = this.#clock.monotonic();
    this.#times = this.#times.filter((at) => now - at < minuteMs);
    return this.#times.length;
  }

  add(): void {
    this.#times.push(this.#clock.monotonic());
  }
}
