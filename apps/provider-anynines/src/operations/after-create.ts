/**
 * What becomes of a create that had no good answer (OSB 2.17 "Orphan Mitigation").
 *
 * | answer                                              | nothing was unanswered before | a call before it was     |
 * |-----------------------------------------------------|-------------------------------|--------------------------|
 * | 200 that cannot be used, 408                        | repeat                        | repeat                   |
 * | 201 or 202 that cannot be used, other 2xx, 5xx      | discard                       | discard                  |
 * | half of one, none in time                           | discard                       | discard                  |
 * | other 4xx, 3xx; no connection; no token             | forget                        | repeat                   |
 * | an error that is not of the call, such as an abort  | repeat                        | repeat                   |
 *
 * `forget`: nothing is there. `repeat`: the same call with the same identifier shows what is there. `discard`: what may be there is deleted
 * before it is made anew. A refusal of the second call says nothing of what became of the first.
 */
import { mayHaveLeftOrphan, needsOrphanMitigation, OsbError, OsbTransportError } from "@klutch/osb";

/** What to do next. */
export type AfterCreate = "forget" | "repeat" | "discard";

/** `isRepeat`: the same call was made before, and its answer is not known. */
export function afterCreate(error: unknown, isRepeat: boolean): AfterCreate {
  if (needsOrphanMitigation(error)) return "discard";
  const isAnswer = error instanceof OsbError || error instanceof OsbTransportError;
  return isRepeat || !isAnswer || mayHaveLeftOrphan(error) ? "repeat" : "forget";
}
