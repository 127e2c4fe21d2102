/**
 * Says what becomes of a call to a service broker that had no good answer (OSB 2.17 "Orphan Mitigation"). For a create:
 *
 * | answer                                              | nothing was unanswered before | a call before it was     |
 * |-----------------------------------------------------|-------------------------------|--------------------------|
 * | 200 that cannot be used, 408                        | repeat                        | repeat                   |
 * | 201 or 202 that cannot be used, other 2xx, 5xx      | discard                       | discard                  |
 * | half of one, none in time                           | discard                       | discard                  |
 * | other 4xx, 3xx; no connection; no token             | forget                        | repeat                   |
 * | an error that is not of the call, such as an abort  | repeat                        | repeat                   |
 *
 * `forget`: nothing was made. `repeat`: the same call with the same identifier shows what was made. `discard`: whatever was made is deleted
 * before the next create. A refusal of the second call says nothing about the first.
 */
import { isGone, mayHaveLeftOrphan, needsOrphanMitigation, OsbError, OsbTransportError } from "@klutch/osb";
import type { Call, Then } from "./step.ts";

/** Decides about a create. `isRepeat`: the same call was made before, and its answer is not known. */
export function afterCreate(error: unknown, isRepeat: boolean): Then {
  if (needsOrphanMitigation(error)) return "discard";
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
