/** Decides which new traces are recorded. Pure, so that a flood of forged annotations can be tried in a test. */
import type { SamplerChoice } from "./config.ts";
import type { SpanIdentity } from "./traceparent.ts";

/**
 * New traces that are recorded each second only because a link says that their cause is. Annotations may be forged: without a bound a tenant
 * could switch the recording of all its objects on. Beyond it the ratio decides, as for traces without a link.
 */
export const mostFollowedEachSecond = 50;

/** Options of `createDecision`. */
export interface DecisionOptions {
  readonly choice: SamplerChoice;
  /** Returns monotonic milliseconds. */
  readonly nowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Returns the function that decides about a trace whose causes are these. */
export function createDecision({
  choice,
  nowMs,
  random,
}: DecisionOptions): (causes: readonly SpanIdentity[]) => boolean {
  const { ratio, followsParent } = choice;
  let left = mostFollowedEachSecond;
  let filledAtMs = nowMs();
  const mayFollow = (): boolean => {
    const now = nowMs();
    left = Math.min(mostFollowedEachSecond, left + ((now - filledAtMs) / 1000) * mostFollowedEachSecond);
    filledAtMs = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
  return (causes) => {
    if (ratio >= 1) return true;
    if (followsParent && causes.some(({ isSampled }) => isSampled) && mayFollow()) return true;
    return random() < ratio;
  };
}
