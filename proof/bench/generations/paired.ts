/** Two pieces of work against each other, in turn, so that a machine that changes its speed does it to both. */
import { median } from "../harness/statistics.ts";

/** Microseconds for each call, and the one against the other: medians of all rounds. */
export interface Paired {
  readonly one: number;
  readonly other: number;
  /** What `one` takes more than `other` in the same round. */
  readonly more: number;
  readonly ratio: number;
}

/** How long it is looked at. */
export interface PairedOptions {
  /** Those that count; a tenth more, and at least one, comes before for the compiler. */
  readonly rounds: number;
  /** Calls of each in one round. Few: a round in which somebody else had the processor is an outlier, which a median leaves out. */
  readonly calls: number;
}

/** Both get the number of the call, and give back something, so that no work is left out because nobody looks at it. */
export function measurePaired(
  one: (call: number) => unknown,
  other: (call: number) => unknown,
  { rounds, calls }: PairedOptions,
): Paired {
  const pairs: { readonly one: number; readonly other: number }[] = [];
  const results: unknown[] = [undefined];
  const microsOf = (work: (call: number) => unknown): number => {
    const before = performance.now();
    for (let call = 0; call < calls; call++) results[0] = work(call);
    return ((performance.now() - before) * 1000) / calls;
  };
  for (let round = -Math.ceil(rounds / 10); round < rounds; round++) {
    // Who comes second meets the garbage of the first.
    const early = round % 2 === 0 ? microsOf(one) : undefined;
    const second = microsOf(other);
    const first = early ?? microsOf(one);
    if (round >= 0) pairs.push({ one: first, other: second });
  }
  return {
    one: median(pairs.map((pair) => pair.one)),
    other: median(pairs.map((pair) => pair.other)),
    more: median(pairs.map((pair) => pair.one - pair.other)),
    ratio: median(pairs.map((pair) => pair.one / pair.other)),
  };
}
