/** Two pieces of work against each other, in turn, so that a machine that changes its speed does it to both. */
import { median } from "../harness/statistics.ts";

/** Microseconds for each call, and the one against the other: medians of all rounds. */
export interface Paired {
  readonly one: number;
  readonly other: number;
  /** Microseconds by which `one` takes longer than `other` in the same round. */
  readonly more: number;
  readonly ratio: number;
}

/** Length of a measurement. */
export interface PairedOptions {
  /** Rounds that count; a tenth more, and at least one, come before to warm up the compiler. */
  readonly rounds: number;
  /** Calls of each in one round. Few: a round in which another process had the processor is an outlier, which a median leaves out. */
  readonly calls: number;
}

/** Measures both in turn. Each gets the number of the call and returns something, so that the compiler drops no work as unused. */
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
    // The second one meets the garbage of the first.
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
