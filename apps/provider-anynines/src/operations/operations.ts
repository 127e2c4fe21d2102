/** Executes the steps of one operation: the only place that writes records and calls backends to change something. */
import type { CallOptions, Managed } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import type { LastOperation, Outcome } from "@klutch/osb";
import type { AnnotationChanges, CriticalAnnotations } from "../records/annotations.ts";
import { type Operation, operationAnnotation, recordedOperation } from "../records/operation.ts";
import { type Asked, brokerText } from "./answers.ts";
import {
  type Call,
  deletionWaitMs,
  type Moment,
  type Observed,
  type Report,
  step,
  type Then,
  type Together,
  type Wanted,
} from "./step.ts";

/** Keeps one record. */
export interface Slot {
  /** As it was read or last written. */
  readonly current: Operation | undefined;
  /** Resolves when the record is stored, together with `also`, in one write. */
  write(record: Operation | undefined, also: AnnotationChanges): Promise<void>;
}

/** Annotations that are written together with the record, in one write. */
export type Also = Readonly<Partial<Record<Together, AnnotationChanges>>>;

/** An operation that is to begin. */
export interface Begin extends Omit<Wanted, "kind"> {
  readonly also?: Also;
  /** Makes the call. Default: the kind's `call`. */
  readonly send?: () => Promise<Observed>;
}

/** Tells how one kind of thing is made, changed, deleted and found again. */
export interface Kind extends Pick<Moment, "generation">, Partial<Pick<Moment, "finds" | "retries">> {
  readonly clock: Pick<Clock, "now">;
  readonly slot: Slot;
  /** Makes the call for the record, and says what it gave. Throws the backend's errors. `isWanted`: the operation is to begin. */
  readonly call: (
    call: Call,
    asked: { readonly record: Operation | undefined; readonly isWanted: boolean },
    options: CallOptions,
  ) => Promise<Observed>;
  /** Returns how long the backend may work on an operation. Default: 7 days. */
  readonly maxSeconds?: (record: Operation, options: CallOptions) => Promise<number | undefined>;
  readonly afterCall: (call: Call, error: unknown, isRepeat: boolean) => Then | "gone";
  /** Annotations for the end of an operation that `look` finds. Default: none. */
  readonly also?: (record: Operation) => Also;
  /** Returns the error for people. */
  readonly explain: (error: unknown, asked: Asked) => unknown;
  /** Words and wait of an error that is recorded; throws any other. Needed with `retries`. */
  readonly failure?: (error: unknown) => {
    readonly failure: string;
    readonly retryAfterMs?: number | undefined;
  };
}

/** One operation of one managed resource, during one reconcile. */
export class Operations {
  readonly #kind: Kind;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  get current(): Operation | undefined {
    return this.#kind.slot.current;
  }

  /** Milliseconds until a deletion that failed may be asked for again; undefined: now, or no deletion failed. */
  get deletionWaitMs(): number | undefined {
    return deletionWaitMs(this.current, this.#kind.clock.now());
  }

  /** Begins an operation. Once the record says what follows, it throws what the call threw, in the words of `explain`. */
  begin(wanted: Begin, options: CallOptions): Promise<Report> {
    return this.#run({ kind: "wanted", ...wanted }, wanted, options);
  }

  /** Learns how the recorded operation goes on. */
  async look(options: CallOptions): Promise<Report> {
    const { current: record } = this;
    const seconds = record?.phase === "polling" ? await this.#kind.maxSeconds?.(record, options) : undefined;
    return this.#run({ kind: "look" }, undefined, options, seconds);
  }

  /** Drops the record: what it says does not hold any more. */
  forget(): Promise<void> {
    return this.#kind.slot.write(undefined, {});
  }

  async #run(
    first: Observed,
    wanted: Begin | undefined,
    options: CallOptions,
    maxSeconds?: number,
  ): Promise<Report> {
    const { slot, clock, generation, finds = "repeat", retries = false, explain } = this.#kind;
    const before = slot.current;
    const maxMs = maxSeconds === undefined ? undefined : maxSeconds * 1_000;
    let answer: Answer = { observed: first };
    for (;;) {
      const moment = { now: clock.now(), generation, finds, retries, maxMs };
      const { write, together, call, say } = step(slot.current, answer.observed, moment);
      if (write !== undefined) await slot.write(write ?? undefined, this.#changes(together, wanted?.also));
      if (answer.problem !== undefined)
        throw explain(answer.problem.error, wanted === undefined ? "question" : "change");
      if (call === undefined) return say;
      answer = await this.#ask(call, wanted, before, options);
    }
  }

  #changes(together: Together | undefined, also: Also | undefined): AnnotationChanges {
    const record = this.current;
    if (together === undefined) return {};
    return (also ?? (record === undefined ? {} : this.#kind.also?.(record)))?.[together] ?? {};
  }

  async #ask(
    call: Call,
    wanted: Begin | undefined,
    before: Operation | undefined,
    options: CallOptions,
  ): Promise<Answer> {
    const { slot, retries = false, afterCall, failure, call: send } = this.#kind;
    const isRepeat = before?.type === slot.current?.type && before?.phase === "calling";
    try {
      const asked = { record: slot.current, isWanted: wanted !== undefined };
      return { observed: await (wanted?.send?.() ?? send(call, asked, options)) };
    } catch (error) {
      const then = afterCall(call, error, isRepeat);
      if (then === "gone") return { observed: { kind: "gone" } };
      if (retries)
        return { observed: { kind: "unanswered", next: then, before, failure: "", ...failure?.(error) } };
      return { observed: { kind: "unanswered", next: then, before, failure: "" }, problem: { error } };
    }
  }
}

interface Answer {
  readonly observed: Observed;
  /** To be thrown once it is recorded. */
  readonly problem?: { readonly error: unknown };
}

/** The record of an instance or a binding. */
export function operationSlot(managed: Managed, annotations: CriticalAnnotations): Slot {
  let current = recordedOperation(managed);
  return {
    get current() {
      return current;
    },
    async write(record, also) {
      current = record;
      const text = record === undefined ? undefined : JSON.stringify(record);
      await annotations.write({ ...also, [operationAnnotation]: text });
    },
  };
}

/** An answer of a service broker to a call that changes something. */
export function outcomeOf(outcome: Outcome | { readonly kind: "done" }): Observed {
  if (outcome.kind === "done") return { kind: "done" };
  return { kind: "accepted", key: outcome.operation, retryAfterMs: outcome.retryAfterMs };
}

/** An answer of a service broker to the question how an operation goes on. */
export function pollOf({ state, description, retryAfterMs }: LastOperation): Observed {
  if (state === "succeeded") return { kind: "done" };
  const kind = state === "failed" ? "failed" : "working";
  return { kind, description: brokerText(description), retryAfterMs };
}

/** Returns what the broker said when the operation failed, for the condition. */
export function failureMessage(operation: Operation | undefined): string {
  const { type = "operation", description = "the broker gave no reason" } = operation ?? {};
  return `${type} failed: ${description}`;
}
