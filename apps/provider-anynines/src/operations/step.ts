/**
 * Decides how an operation at a backend goes on: the one state machine of instances, bindings, credential versions, backups and restores.
 * No I/O. `operations.ts` executes it.
 *
 * | recorded                  | observed                              | written                                | then                     |
 * |---------------------------|---------------------------------------|----------------------------------------|--------------------------|
 * | anything                  | `wanted`                              | calling                                | the call                 |
 * | anything of a list        | `wanted`                              | –                                      | list, then as `listed`   |
 * | nothing, failed, made     | `look`                                | –                                      | said as it is            |
 * | calling                   | `look`                                | –                                      | unanswered; list; with `retries` the call again |
 * | polling                   | `look`                                | –; too old: as `failed`                | poll                     |
 * | calling                   | `accepted`                            | polling, with the key                  | working                  |
 * | polling                   | `working`                             | –                                      | working                  |
 * | create, update            | `done`                                | nothing                                | done                     |
 * | create                    | `made`                                | made; with an id that is the end       | publish                  |
 * | delete                    | `done`, `gone`                        | nothing; both with what belongs to `done` | gone                  |
 * | discard                   | `done`, `gone`                        | the failed create, or nothing          | gone                     |
 * | create                    | `gone`                                | –; with `retries` failed               | gone: the same call again |
 * | update                    | `gone`                                | nothing                                | gone                     |
 * | any                       | `failed`                              | failed; with `retries` to be discarded | failed                   |
 * | calling                   | `unanswered`, nothing was made        | as before the call                     | thrown                   |
 * | calling                   | `unanswered`, it may have left orphans | discard                               | thrown                   |
 * | any                       | `unanswered`, otherwise               | –                                      | thrown                   |
 * | calling                   | `listed`, found                       | made                                   | made                     |
 * | calling                   | `listed`, may still arrive            | –                                      | looked for               |
 * | anything                  | `listed`, not there                   | calling, if it is wanted               | the call                 |
 *
 * With `retries` the record counts failures and says when the next try is due, and nothing is thrown.
 */
import type { NewestBefore, Operation, OperationTarget } from "../records/operation.ts";
import { deletionDelayMs, pollDelayMs, retryDelayMs } from "./pace.ts";

/** The consequence of a call without a good answer; see `answers.ts`. */
export type Then = "forget" | "repeat" | "discard";

/** Something that was learned, or that is wanted now. */
export type Observed =
  | Wanted
  | Listed
  | Unanswered
  /** The operation is to go on. */
  | { readonly kind: "look" }
  | { readonly kind: "done" }
  | { readonly kind: "gone" }
  | ({ readonly kind: "accepted"; readonly key?: string | undefined } & Retried)
  /** `description`: the backend's words. */
  | ({ readonly kind: "working"; readonly description: string } & Retried)
  | ({ readonly kind: "failed"; readonly description: string } & Retried)
  /** `id`: the number by which a backup manager knows it. */
  | { readonly kind: "made"; readonly id?: number | undefined };

interface Retried {
  readonly retryAfterMs?: number | undefined;
}

/** An operation is to begin. `description` names the action while the backend works. */
export interface Wanted extends Pick<Operation, "type" | "description"> {
  readonly kind: "wanted";
  readonly target?: OperationTarget | undefined;
}

/** The call had no good answer. `before`: what was recorded before it. */
export interface Unanswered extends Retried {
  readonly kind: "unanswered";
  readonly next: Then;
  readonly before: Operation | undefined;
  readonly failure: string;
}

/** The backend listed what it has. `found`: the id of what an earlier call made; `waitMs`: how long an earlier call may still arrive. */
export interface Listed {
  readonly kind: "listed";
  readonly found?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly newest: NewestBefore;
  readonly isWanted: boolean;
}

/** A call of the backend. */
export type Call = "create" | "update" | "delete" | "poll" | "publish" | "list";

/** The end of an operation. `type` is that of the operation. */
export type Report =
  | { readonly kind: "rest" | "unanswered" | "failed" | "made" }
  | { readonly kind: "done" | "gone"; readonly type: Operation["type"] }
  | Working
  /** An earlier call is looked for; undefined: it came to nothing. */
  | { readonly kind: "searching"; readonly waitMs: number | undefined };

/** The backend works on the operation. `message`: its words, if it has any. */
export interface Working {
  readonly kind: "working";
  readonly message: string | undefined;
  readonly pollAfterMs: number;
}

/** Annotations that a kind writes together with its record: with the intent, and with each end of an operation. */
export type Together = "before" | "done" | "refused" | "discarded";

/** The record to write (`null` removes it), then the call to make, or else the report. */
export interface Step {
  readonly write?: Operation | null;
  readonly together?: Together;
  readonly call?: Call;
  readonly say: Report;
}

/** When and for what the step is decided. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** `metadata.generation` of the managed resource. */
  readonly generation: number | undefined;
  /** The way to find a lost answer: by the same call, or in the backend's list. */
  readonly finds: "repeat" | "list";
  /** Failures are recorded instead of thrown. */
  readonly retries: boolean;
  /** Time that the backend may take for an operation. Default: 7 days (OSB: the platform chooses). */
  readonly maxMs: number | undefined;
}

type Answer = Extract<
  Observed,
  { readonly kind: "accepted" | "working" | "done" | "gone" | "failed" | "unanswered" }
>;

const defaultMaxPollingMs = 7 * 24 * 3600 * 1000;
const unanswered: Report = { kind: "unanswered" };

/** See the table above. */
export function step(record: Operation | undefined, observed: Observed, moment: Moment): Step {
  switch (observed.kind) {
    case "wanted":
      return moment.finds === "list"
        ? { call: "list", say: unanswered }
        : { ...intent(begun(record, observed, moment)), call: callOf(observed.type) };
    case "look":
      return look(record, moment);
    case "listed":
      return listed(record, observed, moment);
    case "made":
      return made(record, observed.id, moment);
    case "accepted":
    case "working":
    case "done":
    case "gone":
    case "failed":
    case "unanswered":
      return record === undefined ? { say: { kind: "rest" } } : answered(record, observed, moment);
  }
}

function answered(record: Operation, observed: Answer, moment: Moment): Step {
  switch (observed.kind) {
    case "accepted": {
      const polling = { ...record, phase: "polling", key: observed.key } as const;
      return working(polling, "", observed.retryAfterMs, moment, true);
    }
    case "working":
      return working(record, observed.description, observed.retryAfterMs, moment, false);
    case "done":
    case "gone":
      return ended(record, observed.kind, moment);
    case "failed":
      return failed(record, observed.description, observed.retryAfterMs, moment);
    case "unanswered":
      return noAnswer(record, observed, moment);
  }
}

/** Milliseconds until a deletion that failed may be asked for again; undefined: now, or no deletion failed. */
export function deletionWaitMs(operation: Operation | undefined, now: number): number | undefined {
  const { phase, failures = 0, failedAt } = operation ?? {};
  if (phase !== "failed" || failures === 0 || failedAt === undefined) return undefined;
  return deletionDelayMs(failures, failedAt, now);
}

function begun(record: Operation | undefined, wanted: Wanted, { now, generation }: Moment): Operation {
  const { type, target, description } = wanted;
  const failures = record?.type === type ? record.failures : undefined;
  const count = failures === undefined ? {} : { failures };
  const begin = { type, phase: "calling", startedAt: now, ...count, ...target } as const;
  if (type !== "discard") return { ...begin, generation, description };
  // The record remembers what the create failed with, so that the same spec is not tried again.
  const isFailed = record?.type === "create" && record.phase === "failed";
  const failure = isFailed ? (record.description ?? "") : record?.failure;
  return { ...begin, generation: record?.generation, failure };
}

function look(record: Operation | undefined, moment: Moment): Step {
  const { maxMs = defaultMaxPollingMs } = moment;
  switch (record?.phase) {
    case undefined:
      return { say: { kind: "rest" } };
    case "calling":
      if (moment.finds === "list") return { call: "list", say: unanswered };
      return moment.retries ? { call: callOf(record.type), say: unanswered } : { say: unanswered };
    case "polling":
      if (moment.now - record.startedAt <= maxMs) return { call: "poll", say: unanswered };
      return failed(record, `the broker did not finish within ${maxMs / 1000} s`, undefined, moment);
    case "made":
      return moment.retries ? { call: "publish", say: unanswered } : { say: { kind: "made" } };
    case "failed":
      return { say: { kind: "failed" } };
  }
}

function working(
  record: Operation,
  description: string,
  retryAfterMs: number | undefined,
  moment: Moment,
  isNew: boolean,
): Step {
  const { now, retries, maxMs = defaultMaxPollingMs } = moment;
  const ageMs = now - record.startedAt;
  const delayMs = retryAfterMs ?? pollDelayMs(ageMs);
  // Not later than the moment at which it counts as failed.
  const say = {
    kind: "working",
    message: description || undefined,
    pollAfterMs: Math.min(delayMs, maxMs - ageMs + 1),
  } as const;
  if (!retries) return isNew ? { write: record, say } : { say };
  const isDeletion = record.type === "delete" || record.type === "discard";
  const afterMs = isDeletion ? (retryAfterMs ?? (isNew ? 1_000 : 5_000)) : delayMs;
  return { write: { ...record, againAt: now + afterMs }, say };
}

function ended(record: Operation, kind: "done" | "gone", moment: Moment): Step {
  const { type } = record;
  if (type === "discard")
    return { write: discarded(record, moment), together: "discarded", say: { kind: "gone", type } };
  if (type === "create" && kind === "gone") {
    const lost = tried(record, "the broker does not know it", undefined, moment);
    return moment.retries ? givenUp(lost) : { say: { kind, type } };
  }
  const say = { kind: type === "delete" ? "gone" : kind, type } as const;
  const isDone = kind === "done" || type === "delete";
  return isDone ? { write: null, together: "done", say } : { write: null, say };
}

/** Ends a create whose remains are deleted. A failed create stays failed until the spec changes. */
function discarded(record: Operation, { now, generation, retries }: Moment): Operation | null {
  const { failure, failures = 0, startedAt, serviceId, planId, instanceId } = record;
  const failedAs = { type: "create", phase: "failed", description: failure, discarded: true } as const;
  if (retries) return { ...record, ...failedAs, key: undefined, againAt: now + retryDelayMs(failures) };
  if (failure === undefined || generation !== record.generation) return null;
  return { ...failedAs, generation: record.generation, startedAt, serviceId, planId, instanceId };
}

/** The backend says that it failed. It stays so until the spec changes, the deletion's next attempt is due, or, with `retries`, it is discarded. */
function failed(
  record: Operation,
  description: string,
  retryAfterMs: number | undefined,
  moment: Moment,
): Step {
  const { now, retries } = moment;
  const isDeletion = record.type === "delete" || record.type === "discard";
  if (!retries) {
    const count = isDeletion ? { failures: (record.failures ?? 0) + 1, failedAt: now } : {};
    return { write: { ...record, ...count, phase: "failed", description }, say: { kind: "failed" } };
  }
  const again = { ...record, phase: "calling", key: undefined } as const;
  if (isDeletion)
    return { write: { ...again, againAt: now + (retryAfterMs ?? 5_000) }, say: { kind: "failed" } };
  const words = description || "the broker gave no reason";
  const write = { ...tried(again, words, undefined, moment), type: "discard", againAt: undefined } as const;
  return { write, say: { kind: "failed" } };
}

function noAnswer(record: Operation, observed: Unanswered, moment: Moment): Step {
  const { next: then, before, failure, retryAfterMs } = observed;
  if (!moment.retries) {
    if (then === "repeat") return { say: unanswered };
    if (then === "discard") return { write: { ...record, type: "discard" }, say: unanswered };
    // An earlier try of the same call may still be in doubt.
    const isRepeat = before?.type === record.type && before.phase === "calling";
    if (moment.finds === "list") return { write: isRepeat ? before : null, say: unanswered };
    const isRefused = record.type === "update" && !isRepeat;
    return { write: null, ...(isRefused ? { together: "refused" } : {}), say: unanswered };
  }
  const next = tried(record, failure, retryAfterMs, moment);
  if (then === "forget") return givenUp(next);
  return {
    write: then === "repeat" ? next : { ...next, type: "discard", againAt: undefined },
    say: unanswered,
  };
}

function tried(
  record: Operation,
  failure: string,
  retryAfterMs: number | undefined,
  { now }: Moment,
): Operation {
  const failures = (record.failures ?? 0) + 1;
  return { ...record, failures, failure, againAt: now + (retryAfterMs ?? retryDelayMs(failures)) };
}

/** Nothing of it is at the backend. */
function givenUp(record: Operation): Step {
  return { write: { ...record, phase: "failed", discarded: true }, say: { kind: "failed" } };
}

function made(record: Operation | undefined, id: number | undefined, { now }: Moment): Step {
  const create = record ?? { type: "create", startedAt: now };
  const write = { ...create, phase: "made", key: undefined, againAt: undefined } as const;
  return id === undefined
    ? { write, call: "publish", say: { kind: "made" } }
    : { write: { ...write, id }, say: { kind: "made" } };
}

function listed(record: Operation | undefined, observed: Listed, moment: Moment): Step {
  const { found, waitMs, newest, isWanted } = observed;
  const isOpen = record?.phase === "calling";
  if (isOpen && found !== undefined) return made(record, found, moment);
  if (record?.phase === "made") return { say: { kind: "made" } };
  if (!isWanted || (isOpen && waitMs !== undefined)) return { say: { kind: "searching", waitMs } };
  const { now: startedAt, generation } = moment;
  const after = isOpen ? record.after : newest;
  const create = { type: "create", phase: "calling", startedAt, generation, after } as const;
  return { ...intent(create), call: "create" };
}

function intent(write: Operation): Step {
  return { write, together: "before", say: unanswered };
}

function callOf(type: Operation["type"]): Call {
  return type === "discard" ? "delete" : type;
}
