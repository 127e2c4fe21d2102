/** Answers of the API server that count for a while. No I/O. */
import type { Clock } from "@klutch/kube";

/** Remembers answers for a while, the latest ones if there are too many. */
export class Memory<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #bounds: { readonly keepMs: number; readonly most: number };
  readonly #isKept: (answer: T) => boolean;
  readonly #answers = new Map<string, { readonly answer: Promise<T>; readonly untilMs: number }>();

  constructor(
    clock: Pick<Clock, "monotonic">,
    bounds: { readonly keepMs: number; readonly most: number },
    isKept: (answer: T) => boolean,
  ) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#isKept = isKept;
  }

  get(name: string, make: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonic();
    const kept = this.#answers.get(name);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.answer;
    this.#answers.delete(name);
    const answer = make();
    this.#answers.set(name, { answer, untilMs: nowMs + this.#bounds.keepMs });
    // The oldest stand first.
    for (const [old, { untilMs }] of this.#answers) {
      if (this.#answers.size <= this.#bounds.most && untilMs > nowMs) break;
      this.#answers.delete(old);
    }
    void answer.then((found) => {
      if (!this.#isKept(found) && this.#answers.get(name)?.answer === answer) this.#answers.delete(name);
    });
    return answer;
  }
}
