/**
 * Waits for an operation that a broker accepted (OSB 2.17 "Polling Interval and Duration"): until it ends, or until the longest
 * time of its plan or of the platform is over, which counts as failed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { OsbClient } from "./client.ts";
import { isGone, OsbError, OsbTransportError } from "./errors.ts";
import type { CallOptions, PollRequest } from "./requests.ts";
import type { LastOperation } from "./types.ts";

/** End of an operation. */
export type PollEnd =
  | { readonly kind: "succeeded"; readonly description: string }
  /** The object to delete no longer exists. */
  | { readonly kind: "gone" }
  | {
      readonly kind: "failed";
      readonly description: string;
      /** Waiting timed out: the broker may still work on it. */
      readonly timedOut: boolean;
      readonly instanceUsable?: boolean | undefined;
      readonly updateRepeatable?: boolean | undefined;
    };

/** Result of one poll: the broker's answer, or the error. */
export type PollAnswer = { readonly last: LastOperation } | { readonly error: unknown };

/** Input of `nextPoll`. */
export interface PollObservation {
  readonly answer: PollAnswer;
  /** True for a deletion: only then an answer of 410 means success. */
  readonly deletes: boolean;
  readonly elapsedMs: number;
  readonly maximumMs: number;
  /** Between two questions when the broker does not say. */
  readonly intervalMs: number;
  /** Answers in a row that could not be used, this one included. */
  readonly errors: number;
}

/** The longest pause after errors. */
const longestPauseMs = 60_000;
/** Maximum duration of an operation unless plan or caller say less. */
const defaultLongestMs = 7 * 24 * 3_600_000;
const defaultIntervalMs = 2_000;

/** Decides the next step after an answer. An error is no end: the broker may still work. */
export function nextPoll(
  observed: PollObservation,
): PollEnd | { readonly kind: "wait"; readonly ms: number } {
  const { answer, deletes, elapsedMs, maximumMs, intervalMs, errors } = observed;
  if ("last" in answer) {
    const { state, description, instanceUsable, updateRepeatable } = answer.last;
    if (state === "succeeded") return { kind: "succeeded", description };
    if (state === "failed")
      return { kind: "failed", description, timedOut: false, instanceUsable, updateRepeatable };
  } else if (deletes && isGone(answer.error)) return { kind: "gone" };
  const leftMs = maximumMs - elapsedMs;
  if (leftMs <= 0)
    return { kind: "failed", description: `it did not end within ${maximumMs / 1000} s`, timedOut: true };
  const pauseMs = intervalMs * 2 ** Math.min(Math.max(errors - 1, 0), 10);
  return { kind: "wait", ms: Math.min(retryAfterOf(answer) ?? Math.min(pauseMs, longestPauseMs), leftMs) };
}

/** Time as `pollOperation` needs it. */
export interface PollClock {
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** Throws the signal's reason when that comes first. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Options of `pollOperation`. */
export interface PollOptions {
  readonly deletes: boolean;
  /** The plan's `maximumPollingDuration`. */
  readonly maximumPollingSeconds?: number | undefined;
  /** The platform's own limit. Default 7 days. */
  readonly longestMs?: number | undefined;
  /** Default 2 000. */
  readonly intervalMs?: number | undefined;
  readonly clock?: PollClock | undefined;
}

/** The time of this machine. */
export const realClock: PollClock = {
  now: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await sleep(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/** Asks until the operation ends. Throws the reason of the signal, and `NotSent` errors; others it survives. */
export async function pollOperation(
  client: Pick<OsbClient, "lastOperation">,
  request: PollRequest,
  options: PollOptions & CallOptions,
): Promise<PollEnd> {
  const { deletes, maximumPollingSeconds, clock = realClock, intervalMs = defaultIntervalMs } = options;
  const longestMs = options.longestMs ?? defaultLongestMs;
  const maximumMs = Math.min(
    longestMs,
    maximumPollingSeconds === undefined ? longestMs : maximumPollingSeconds * 1000,
  );
  const { signal, identity } = options;
  const startedAt = clock.now();
  let errors = 0;
  for (;;) {
    const answer = await ask(client, request, { signal, identity });
    errors = "error" in answer ? errors + 1 : 0;
    const elapsedMs = clock.now() - startedAt;
    const step = nextPoll({ answer, deletes, elapsedMs, maximumMs, intervalMs, errors });
    if (step.kind !== "wait") return step;
    await clock.sleep(step.ms, signal);
  }
}

async function ask(
  client: Pick<OsbClient, "lastOperation">,
  request: PollRequest,
  options: CallOptions,
): Promise<PollAnswer> {
  try {
    return { last: await client.lastOperation(request, options) };
  } catch (error) {
    options.signal?.throwIfAborted();
    const isSurvivable =
      error instanceof OsbError || (error instanceof OsbTransportError && error.code !== "NotSent");
    if (!isSurvivable) throw error;
    return { error };
  }
}

function retryAfterOf(answer: PollAnswer): number | undefined {
  if ("last" in answer) return answer.last.retryAfterMs;
  return answer.error instanceof OsbError ? answer.error.retryAfterMs : undefined;
}
