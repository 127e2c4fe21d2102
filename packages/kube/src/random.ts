/** Returns a number in [0, 1); injected so that jitter is repeatable in tests. */
export type Random = () => number;

/** The runtime's generator. Not for secrets. */
export const systemRandom: Random = Math.random;
