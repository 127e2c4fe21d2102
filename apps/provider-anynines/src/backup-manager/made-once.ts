/**
 * One backup or one restore during a reconcile: it is made once and never a second time, whatever gets lost. A backup manager takes no id of
 * ours, so a lost answer is found in its list, by what was there before the call (`operations/step.ts`, "list").
 */
import { type CreateIntent, createIntent, type LostAnswer, type SearchOptions } from "@klutch/backup-manager";
import {
  type CallOptions,
  type CriticalAnnotationUpdate,
  ExternalError,
  externalNameAnnotation,
  type Managed,
  NotYetError,
  type Observation,
} from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { notWhile } from "../claims/waiting.ts";
import { type Kind, Operations, type Slot } from "../operations/operations.ts";
import { pollDelayMs } from "../operations/pace.ts";
import type { Observed } from "../operations/step.ts";
import { type AnnotationChanges, CriticalAnnotations } from "../records/annotations.ts";
import { type CallSource, intentOf, operationOf, recordedCall } from "../records/made-once.ts";
import { type Operation, operationAnnotation } from "../records/operation.ts";
import { toExternalError } from "./errors.ts";
import type { Applicant, InstanceLocks } from "./instance-locks.ts";

/** An entry of a backup manager's list. */
export interface Item {
  readonly id: number;
  readonly triggeredAtMs?: number | undefined;
}

/** Lists what the manager has of one instance, and makes another one. */
export interface OnceCalls<T> {
  /** The instance's id at its broker. */
  readonly instanceId: string;
  /** All of the instance; empty when the manager does not know the instance. */
  list(options: CallOptions): Promise<readonly T[]>;
  find(items: readonly T[], intent: CreateIntent, options: SearchOptions): LostAnswer<T>;
  /** Returns its number. */
  create(options: CallOptions): Promise<number>;
  /** Reports whether the error proves that nothing was made. */
  isClearNo(error: unknown): boolean;
  /** Returns the reason why none is made now, although ours does not exist. */
  obstacle(items: readonly T[]): string | undefined;
}

/** Knows which numbers belong to which managed resources. */
export interface TakenIds {
  /** Returns the numbers of other managed resources at the same manager. */
  others(): ReadonlySet<number>;
  /** This number is ours from now on. */
  add(id: number): void;
}

/** Dependencies of backups and restores. */
export interface MadeOnceOptions<M extends Managed> {
  readonly managed: M;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly clock: Clock;
  readonly taken: TakenIds;
  /** Says something that a person should know. */
  readonly notice: (message: string) => void;
  readonly locks: InstanceLocks;
  readonly applicant: (instanceId: string) => Applicant;
}

/** The observation of one backup or restore. */
export interface MadeOnceParts<T> {
  /** For what may be there. */
  readonly calls: () => OnceCalls<T>;
  /** Observes the thing with this number. */
  readonly made: (id: number) => Promise<Observation>;
  /** While it is looked for. */
  readonly ready: Observation["ready"];
}

/** An observation of a thing that is never changed, so it is always up to date. */
export type Finding = Omit<Observation, "upToDate" | "status">;

/** At first, while something moves. */
export const movingMs = 2_000;
/** While the manager's word is not known here. */
const unknownMs = 60_000;
const lookAgainMs = 5_000;
/** An intent may be this old when the call is sent. */
const freshMs = 20_000;

/** Lives for one reconcile. `A`: what its status shows. */
export class MadeOnce<A> {
  readonly annotations: CriticalAnnotations;
  readonly #options: Omit<MadeOnceOptions<Managed>, "managed">;
  readonly #managed: Managed;
  readonly #source: CallSource;
  readonly #slot: Slot;
  #atProvider: A;

  constructor(source: CallSource, atProvider: A, options: Omit<MadeOnceOptions<Managed>, "managed">) {
    this.annotations = new CriticalAnnotations(source.managed, options.updateCriticalAnnotations);
    this.#options = options;
    this.#managed = source.managed;
    this.#source = source;
    this.#slot = numberSlot(source, this.annotations, options.taken);
    this.#atProvider = atProvider;
  }

  get atProvider(): A {
    return this.#atProvider;
  }

  get isDeleting(): boolean {
    return this.#managed.metadata.deletionTimestamp !== undefined;
  }

  /** The recorded call. Throws when the number is damaged: a person has to correct it. */
  get record(): Operation | undefined {
    const call = recordedCall(this.#source);
    if (call.kind !== "damaged") return this.#slot.current;
    throw new ExternalError(
      `the annotation ${this.#source.idAnnotation} is ${JSON.stringify(call.text.slice(0, 40))}, which is no number; write the number that the backup manager gave`,
    );
  }

  /** True while the result of the call is unknown. */
  get isOpen(): boolean {
    return this.#slot.current?.phase === "calling";
  }

  /** When to ask again for what the manager does. Its own times may be of another clock. */
  get pollAfterMs(): number {
    const bornAtMs = Date.parse(this.#managed.metadata.creationTimestamp ?? "");
    return Number.isNaN(bornAtMs) ? movingMs : pollDelayMs(this.#options.clock.now() - bornAtMs, movingMs);
  }

  show(atProvider: A): void {
    this.#atProvider = atProvider;
  }

  /** See the table above. Throws `ExternalError` with the manager's words. */
  async observe<T extends Item>(parts: MadeOnceParts<T>, options: CallOptions): Promise<Observation> {
    try {
      return await this.#observe(parts, options);
    } catch (error) {
      throw toExternalError(error, "question");
    }
  }

  /** Makes it while it holds the instance's lock, unless it exists by now. `also` is written together with the intent. Throws the manager's errors. */
  async make<T extends Item>(
    calls: OnceCalls<T>,
    also: AnnotationChanges,
    options: CallOptions,
  ): Promise<void> {
    const wanted = { type: "create", also: { before: also } } as const;
    await this.#inTurn(calls, () => this.#operations(calls).begin(wanted, options));
  }

  /** Releases the instance's lock: no call of this managed resource follows. */
  leaveTurn(): void {
    this.#options.locks.release(this.#managed.metadata.uid ?? "");
  }

  observation(finding: Finding): Observation {
    return { upToDate: true, ...finding, status: { atProvider: this.#atProvider } };
  }

  /** Reports a state of the manager that is not known here. */
  unknown(id: number, word: string, finding: Pick<Finding, "exists" | "ready">): Observation {
    const message = `the backup manager says that ${this.#what} ${id} is ${JSON.stringify(word)}, which is not known here`;
    return this.observation({ ...finding, message, pollAfterMs: unknownMs });
  }

  async #observe<T extends Item>(parts: MadeOnceParts<T>, options: CallOptions): Promise<Observation> {
    if (!this.isOpen) this.leaveTurn();
    const { record } = this;
    if (record === undefined) return this.observation({ exists: false, ready: "creating" });
    if (record.id !== undefined) return parts.made(record.id);
    const calls = parts.calls();
    const said = await this.#inTurn(calls, () => this.#operations(calls).look(options));
    const { id } = this.#slot.current ?? {};
    if (id !== undefined) return parts.made(id);
    const waitMs = said.kind === "searching" ? said.waitMs : undefined;
    return this.observation({
      exists: waitMs !== undefined,
      ready: parts.ready,
      message: `it is not known whether the backup manager got the request; the ${this.#what} is looked for in its list`,
      pollAfterMs: waitMs,
      keepsBackOff: waitMs !== undefined,
    });
  }

  #operations<T extends Item>(calls: OnceCalls<T>): Operations {
    let items: readonly T[] = [];
    const call: Kind["call"] = async (what, { record, isWanted }, options) => {
      if (what === "create") return { kind: "made", id: await this.#create(calls, items, record, options) };
      items = await calls.list(options);
      return this.#listed(calls, items, record, isWanted);
    };
    return new Operations({
      finds: "list",
      generation: this.#managed.metadata.generation,
      clock: this.#options.clock,
      slot: this.#slot,
      call,
      afterCall: (what, error) => {
        const isOurs = error instanceof ExternalError;
        return what === "create" && !isOurs && calls.isClearNo(error) ? "forget" : "repeat";
      },
      explain: (error, asked) => (asked === "question" ? toExternalError(error, asked) : error),
    });
  }

  /** Looks for what an earlier call made. */
  #listed<T extends Item>(
    calls: OnceCalls<T>,
    items: readonly T[],
    record: Operation | undefined,
    isWanted: boolean,
  ): Observed {
    const { clock, taken, notice } = this.#options;
    const nowMs = clock.now();
    const { newestIdBefore: id, newestAtMsBefore: at } = createIntent(items, nowMs);
    const listed = { kind: "listed", newest: { id, at }, isWanted } as const;
    if (record?.phase === "calling") {
      const search = { nowMs, claimed: taken.others(), settleMs };
      const answer = calls.find(items, intentOf(record, this.#managed), search);
      if (answer.kind === "wait") {
        const waitMs = Math.min(everLater(nowMs - record.startedAt, lookAgainMs), answer.forMs);
        return { ...listed, waitMs };
      }
      if (answer.kind !== "none") {
        const [first, ...others] = answer.kind === "found" ? [answer.item] : answer.items;
        const numbers = others.map((other) => other.id).join(", ");
        if (numbers !== "") notice(`${first.id} was taken; ${numbers} came at the same time and stay`);
        return { ...listed, found: first.id };
      }
    }
    const obstacle = isWanted && record?.phase !== "made" ? calls.obstacle(items) : undefined;
    if (obstacle !== undefined) throw notWhile("Restore", obstacle);
    return listed;
  }

  async #create<T extends Item>(
    calls: OnceCalls<T>,
    before: readonly T[],
    record: Operation | undefined,
    options: CallOptions,
  ): Promise<number> {
    // A process that was held up must not call: another one may have taken its intent for a lost call by now.
    if (this.#options.clock.now() - (record?.startedAt ?? 0) > freshMs) {
      throw new NotYetError("writing the intent took too long, so nothing was asked for yet; it will be", {
        requeueAfterMs: lookAgainMs,
      });
    }
    const id = await calls.create(options);
    if (before.every((item) => item.id !== id)) return id;
    throw new ExternalError(
      `the backup manager answered with the number ${id}, which it had before; what it really made is looked for in its list`,
    );
  }

  #inTurn<R>({ instanceId }: { readonly instanceId: string }, work: () => Promise<R>): Promise<R> {
    const { locks, applicant } = this.#options;
    return locks.hold(applicant(instanceId), work, () => this.isOpen);
  }

  get #what(): string {
    return this.#managed.kind.toLowerCase();
  }
}

/** Keeps the open call as the annotation of operations, and its end as the annotation with the number. */
function numberSlot(source: CallSource, annotations: CriticalAnnotations, taken: TakenIds): Slot {
  let current = operationOf(recordedCall(source));
  return {
    get current() {
      return current;
    },
    async write(record, also) {
      const { id } = record ?? {};
      if (id === undefined) {
        const text = record === undefined ? undefined : JSON.stringify(record);
        await annotations.write({ ...also, [operationAnnotation]: text });
      } else {
        if (taken.others().has(id)) {
          throw new ExternalError(
            `the backup manager answered with the number ${id}, which another managed resource has already; look at its log`,
          );
        }
        const number = { [source.idAnnotation]: String(id), [externalNameAnnotation]: String(id) };
        await annotations.write({ ...also, ...number, [operationAnnotation]: undefined });
        taken.add(id);
      }
      current = record;
    },
  };
}

/** One call, in milliseconds. */
export const callTimeoutMs = 60_000;
/** A call that is older is not on its way any more, in milliseconds. */
export const settleMs: number = 2 * callTimeoutMs;
const longestWaitMs = 60_000;

/** Returns when to look again for something that is `ageMs` late: less and less often, at least once a minute. */
export function everLater(ageMs: number, shortestMs: number): number {
  return Math.min(Math.max(ageMs / 2, shortestMs), longestWaitMs);
}
