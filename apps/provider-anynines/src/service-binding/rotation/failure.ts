/** When what a rotation asked of the broker is asked again. */
import { NotYetError } from "@klutch/crossplane";
import { isConcurrency, OsbError, OsbTransportError } from "@klutch/osb";
import { brokerText } from "../../operations/broker-error.ts";
import { pollDelayMs } from "../../operations/pace.ts";

const firstRetryMs = 5_000;
const longestRetryMs = 600_000;
const busyMs = 2_000;

/** What is recorded of a call without a good answer. */
interface Failure {
  readonly tries: number;
  readonly failure: string;
  readonly againAt: number;
}

/** Of what the broker answered, or did not. Throws everything else as it is. */
export function failureOf({ tries }: { readonly tries: number }, error: unknown, now: number): Failure {
  const isKnown =
    error instanceof OsbError || error instanceof OsbTransportError || error instanceof NotYetError;
  if (!isKnown) throw error;
  const failure = brokerText(error.message);
  const waitMs = isConcurrency(error) ? busyMs : undefined;
  const retryAfterMs = (error instanceof OsbError ? error.retryAfterMs : undefined) ?? waitMs;
  const againAt = retryAfterMs === undefined ? retryAt(tries + 1, now) : now + retryAfterMs;
  return { tries: tries + 1, failure, againAt };
}

/** Ever later, at most ten minutes. */
export function retryAt(tries: number, now: number): number {
  return now + Math.min(firstRetryMs * 2 ** Math.max(tries - 1, 0), longestRetryMs);
}

/** A running operation is asked for after a tenth of its age, when the broker does not say. */
export function pollAt(
  { startedAt }: { readonly startedAt: number },
  now: number,
  retryAfterMs: number | undefined,
): number {
  return now + (retryAfterMs ?? pollDelayMs(now - startedAt));
}
