/**
 * Makes one backup or one restore, and never a second one, whatever gets lost.
 *
 * | recorded  | the manager                            | then                                                                  |
 * |-----------|----------------------------------------|-----------------------------------------------------------------------|
 * | nothing   | its list                               | the intent is written, with what is there already; the call           |
 * | calling   | an answer with a number                | the number is written and the intent taken away, in one write         |
 * | calling   | a clear no                             | the record goes back to what it was; the caller says the words        |
 * | calling   | anything else, or a new process        | its list: what is new is taken; else looked for again, for two minutes |
 * | calling   | nothing new in two minutes             | the call again, with the same intent                                  |
 */
import { createIntent, type CreateIntent, type LostAnswer, type SearchOptions } from "@klutch/backup-manager";
import { type CallOptions, ExternalError, externalNameAnnotation, NotYetError } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import type { AnnotationChanges, CriticalAnnotations } from "../records/annotations.ts";
import { type Operation, operationAnnotation } from "../records/operation.ts";
import { notWhile } from "../claims/waiting.ts";
import { everLater, settleMs } from "./call-time.ts";
import { type CallRecord, type CallSource, recordedCall } from "../records/made-once.ts";

/** What the manager has of one instance, and how another one is made. */
export interface OnceCalls<T> {
  /** The instance's id at its broker. */
  readonly instanceId: string;
  /** All of the instance; empty when the manager does not know it. */
  list(options: CallOptions): Promise<readonly T[]>;
  find(items: readonly T[], intent: CreateIntent, options: SearchOptions): LostAnswer<T>;
  /** Its number. */
  create(options: CallOptions): Promise<number>;
  /** Whether the error says that nothing was made. */
  isClearNo(error: unknown): boolean;
  /** Why none is made now, although none of ours is there. */
  obstacle(items: readonly T[]): string | undefined;
}

/** Which numbers belong to whom. */
export interface Claims {
  /** Those of other managed resources at the same manager. */
  others(): ReadonlySet<number>;
  /** This one is ours from now on. */
  add(id: number): void;
}

/** What one call is recorded with. */
export interface OnceOptions extends CallSource {
  readonly annotations: CriticalAnnotations;
  readonly clock: Clock;
  readonly claims: Claims;
  /** Says something that a person should know. */
  readonly notice: (message: string) => void;
}

/** What has a number. */
export interface Item {
  readonly id: number;
}

const lookAgainMs = 5_000;
/** So old may an intent be when the call is sent. */
const freshMs = 20_000;

/** The call of one managed resource during one reconcile. */
export class OnceCall {
  readonly #options: OnceOptions;
  #record: CallRecord;

  constructor(options: OnceOptions) {
    this.#options = options;
    this.#record = recordedCall(options);
  }

  /** Throws when it is damaged: a person has to say what is true. */
  get record(): Exclude<CallRecord, { readonly kind: "damaged" }> {
    const record = this.#record;
    if (record.kind !== "damaged") return record;
    const { idAnnotation } = this.#options;
    throw new ExternalError(
      `the annotation ${idAnnotation} is ${JSON.stringify(record.text.slice(0, 40))}, which is no number; write the number that the backup manager gave`,
    );
  }

  /** Whether it is not known what became of the call. */
  get isOpen(): boolean {
    return this.#record.kind === "calling";
  }

  /** Looks for what the call made. Milliseconds after which to look again; undefined: it is taken, or there was nothing. */
  async look<T extends Item>(calls: OnceCalls<T>, options: CallOptions): Promise<number | undefined> {
    const items = await calls.list(options);
    return this.#find(calls, items);
  }

  /** Makes it, unless it is there by now. `also` is written together with the intent. */
  async make<T extends Item>(
    calls: OnceCalls<T>,
    also: AnnotationChanges,
    options: CallOptions,
  ): Promise<void> {
    const items = await calls.list(options);
    if ((await this.#find(calls, items)) !== undefined || this.#record.kind === "made") return;
    const obstacle = calls.obstacle(items);
    if (obstacle !== undefined) throw notWhile("Restore", obstacle);
    const before = this.#record;
    const now = this.#options.clock.now();
    const intent = before.kind === "calling" ? { ...before.intent, sentAtMs: now } : createIntent(items, now);
    await this.#begin(intent, also);
    this.#checkFresh(now);
    let id: number;
    try {
      id = await calls.create(options);
    } catch (error) {
      if (calls.isClearNo(error)) await this.#goBackTo(before);
      throw error;
    }
    if (items.some((item) => item.id === id))
      throw new ExternalError(
        `the backup manager answered with the number ${id}, which it had before; what it really made is looked for in its list`,
      );
    await this.#take(id);
  }

  /** A process that was held up may call no more: another one may have taken its intent for a lost call by now. */
  #checkFresh(intendedAt: number): void {
    if (this.#options.clock.now() - intendedAt <= freshMs) return;
    throw new NotYetError("writing the intent took too long, so nothing was asked for yet; it will be", {
      requeueAfterMs: lookAgainMs,
    });
  }

  async #find<T extends Item>(calls: OnceCalls<T>, items: readonly T[]): Promise<number | undefined> {
    const { record } = this;
    if (record.kind !== "calling") return undefined;
    const { clock, claims, notice } = this.#options;
    const nowMs = clock.now();
    const search = { nowMs, claimed: claims.others(), settleMs };
    const answer = calls.find(items, record.intent, search);
    if (answer.kind === "wait")
      return Math.min(everLater(nowMs - record.intent.sentAtMs, lookAgainMs), answer.forMs);
    if (answer.kind === "none") return undefined;
    const [taken, ...others] = answer.kind === "found" ? [answer.item] : answer.items;
    if (others.length > 0) notice(`${taken.id} was taken; ${numbers(others)} came at the same time and stay`);
    await this.#take(taken.id);
    return undefined;
  }

  async #begin(intent: CreateIntent, also: AnnotationChanges): Promise<void> {
    const { annotations, managed } = this.#options;
    const { newestIdBefore: id, newestAtMsBefore: at, sentAtMs: startedAt } = intent;
    const operation: Operation = {
      type: "create",
      phase: "calling",
      startedAt,
      generation: managed.metadata.generation,
      ...(id === Number.MAX_SAFE_INTEGER ? {} : { after: { id, at } }),
    };
    await annotations.write({ ...also, [operationAnnotation]: JSON.stringify(operation) });
    this.#record = { kind: "calling", intent };
  }

  async #take(id: number): Promise<void> {
    const { annotations, idAnnotation, claims } = this.#options;
    if (claims.others().has(id)) {
      throw new ExternalError(
        `the backup manager answered with the number ${id}, which another managed resource has already; look at its log`,
      );
    }
    await annotations.write({
      [idAnnotation]: String(id),
      [externalNameAnnotation]: String(id),
      [operationAnnotation]: undefined,
    });
    claims.add(id);
    this.#record = { kind: "made", id };
  }

  /** After a clear no nothing is left of this try, but an earlier one may still be in doubt. */
  async #goBackTo(before: CallRecord): Promise<void> {
    const { annotations, managed } = this.#options;
    const text = managed.metadata.annotations?.[operationAnnotation];
    await annotations.write({ [operationAnnotation]: before.kind === "calling" ? text : undefined });
    this.#record = before;
  }
}

function numbers(items: readonly Item[]): string {
  return items.map(({ id }) => id).join(", ");
}
