/**
 * Says what becomes of a call to a service broker that had no good answer (OSB 2.17 "Orphan Mitigation"). For a create:
 *
 * | answer                                              | nothing was unanswered before | a call before it was     |
 * |-----------------------------------------------------|-------------------------------|--------------------------|
 * | 200 that cannot be used, 408                        | repeat                        | repeat                   |
 * | 201 or 202 that cannot be used, other 2xx, 5xx      | discard                       | discard                  |
 * | half of one, none in time                           | discard                       | discard                  |
 * | 409                                                 | forget                        | discard                  |
 * | other 4xx, 3xx; no connection; no token             | forget                        | repeat                   |
 * | an error that is not of the call, such as an abort  | repeat                        | repeat                   |
 *
 * `forget`: nothing was made. `repeat`: the same call with the same identifier shows what was made. `discard`: whatever was made is deleted
 * before the next create. A refusal of the second call says nothing about the first. But for 409: some brokers answer that to each call for what they
 * made, even to the same one, which OSB does not allow; what stands under an identifier of ours is of the call before, and nothing uses it yet.
 */
import { plainText } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import {
  isConcurrency,
  isGone,
  isRefusal,
  mayHaveLeftOrphan,
  needsOrphanMitigation,
  OsbError,
  OsbTransportError,
} from "@klutch/osb";
import type { Call, Then } from "./step.ts";

/** Decides about a create. `isRepeat`: the same call was made before, and its answer is not known. */
export function afterCreate(error: unknown, isRepeat: boolean): Then {
  if (needsOrphanMitigation(error)) return "discard";
  if (isRepeat && error instanceof OsbError && error.status === 409) return "discard";
  return isRepeat || !isAnswer(error) || mayHaveLeftOrphan(error) ? "repeat" : "forget";
}

/** Decides about any call; `gone`: the broker does not know the thing that was to be deleted or polled. */
export function afterCall(call: Call, error: unknown, isRepeat: boolean): Then | "gone" {
  if (call === "create") return afterCreate(error, isRepeat);
  if (call !== "update") return isGone(error) ? "gone" : "repeat";
  // A call before it may have been done, although its answer was lost.
  return isAnswer(error) && !mayHaveLeftOrphan(error) ? "forget" : "repeat";
}

function isAnswer(error: unknown): boolean {
  return error instanceof OsbError || error instanceof OsbTransportError;
}

/** When to try again after the broker said that it is busy and not for how long. */
const busyMs = 2_000;
/** Longest text of a broker; leaves room in a condition for the words around it. */
const textLimit = 700;

/** A user and password in a URL, and the value of a header that logs in. */
const logins = /(?<=:\/\/)[^\s/@]+(?=@)|(?<=\bauthorization\W{1,4}(?:basic|bearer) )[^\s"']+/gi;

/** A broker's text on one line, bounded, without logins: what echoes a request may repeat ours. */
export function brokerText(text: string): string {
  return plainText(plainText(text, textLimit).replaceAll(logins, "…"), textLimit);
}

/** The broker's own words for the condition. Other errors are given back as they are. */
export function toExternalError(error: unknown, asked: Asked): unknown {
  if (error instanceof OsbError) {
    const { retryAfterMs = isConcurrency(error) ? busyMs : undefined, status, specified } = error;
    const isBusy = specified === "ConcurrencyError" || status === 429;
    return new ExternalError(brokerText(error.message), {
      cause: error,
      retryAfterMs,
      reason: reasonOfAnswer({ status, isBusy, isRefusal: isRefusal(error) }, asked),
    });
  }
  if (error instanceof OsbTransportError) {
    const reason = reasonWithoutAnswer(error.code);
    return new ExternalError(brokerText(error.message), { cause: error, reason });
  }
  return error;
}

/** `question`: nothing was to be changed, so an answer of no is not about the spec. */
export type Asked = "question" | "change";

/** An answer that is not 2xx. */
interface BadAnswer {
  /** HTTP status. */
  readonly status: number;
  /** Something else goes on. */
  readonly isBusy: boolean;
  /** Time changes nothing of it. */
  readonly isRefusal: boolean;
}

/** By what stands before a backend, when the backend does not answer. */
const gatewayStatuses: readonly number[] = [408, 502, 503, 504];
/** Codes of both clients. */
const withoutAnswer: readonly string[] = ["Unreachable", "Timeout", "Broken", "Tls"];

/** Undefined: there is no word for it. */
export function reasonOfAnswer({ status, isBusy, isRefusal }: BadAnswer, asked: Asked): string | undefined {
  if (isBusy) return "BrokerBusy";
  if (gatewayStatuses.includes(status)) return "BrokerUnreachable";
  return asked === "change" && isRefusal ? "Refused" : undefined;
}

/** `code`: why there is no answer that can be used. */
export function reasonWithoutAnswer(code: string): string | undefined {
  return withoutAnswer.includes(code) ? "BrokerUnreachable" : undefined;
}
