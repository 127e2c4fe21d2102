/** Answers that hold for a time. A question that is asked already is not asked twice, and a failure is not remembered. */
import type { Clock } from "@klutch/kube";

/** Returns the answer to the question with this key; calls `ask` if none is remembered. */
export type Remembered<T> = (key: string, ask: () => Promise<T>) => Promise<T>;

/** Creates an empty memory of at most `most` answers, each of which holds for `forMs` milliseconds from when it was asked. */
export function createRemembered<T>(options: {
  readonly clock: Clock;
  readonly forMs: number;
  readonly most: number;
}): Remembered<T> {
  const { clock, forMs, most } = options;
  /** `until` is in monotonic milliseconds. */
  const answers = new Map<string, { readonly until: number; readonly answer: Promise<T> }>();
  return (key, ask) => {
    const now = clock.monotonic();
    const known = answers.get(key);
    if (known !== undefined && known.until > now) return known.answer;
    const asked = { until: now + forMs, answer: ask() };
    // The oldest goes first: a Map keeps the order in which keys came.
    answers.delete(key);
    answers.set(key, asked);
    for (const oldest of answers.keys()) {
      if (answers.size <= most) break;
      answers.delete(oldest);
    }
    asked.answer.catch(() => answers.get(key) === asked && answers.delete(key));
    return asked.answer;
  };
}
