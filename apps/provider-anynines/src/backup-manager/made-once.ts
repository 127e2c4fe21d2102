/**
 * One backup or one restore during a reconcile: its record, its turn among those of its instance, and its status.
 *
 * | recorded | what is asked          | then                                       |
 * |----------|------------------------|--------------------------------------------|
 * | nothing  | nothing                | to be made                                 |
 * | calling  | the list, in its turn  | taken, looked for again, or to be called again |
 * | made     | the thing itself       | as the manager says                        |
 */
import type { CallOptions, CriticalAnnotationUpdate, Managed, Observation } from "@klutch/crossplane";
import { type AnnotationChanges, CriticalAnnotations } from "../records/annotations.ts";
import { pollDelayMs } from "../operations/pace.ts";
import { toExternalError } from "./errors.ts";
import { type Item, OnceCall, type OnceCalls, type OnceOptions } from "./once.ts";
import type { CallSource } from "../records/made-once.ts";
import type { Applicant, Turns } from "./turns.ts";

/** What a backup and a restore are made with. */
export interface MadeOnceOptions<M extends Managed>
  extends Omit<OnceOptions, keyof CallSource | "annotations"> {
  readonly managed: M;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly turns: Turns;
  readonly applicant: (instanceId: string) => Applicant;
}

/** How one is observed. */
export interface MadeOnceParts<T> {
  /** For what may be there. */
  readonly calls: () => OnceCalls<T>;
  /** What is there, by its number. */
  readonly made: (id: number) => Promise<Observation>;
  /** While it is looked for. */
  readonly ready: Observation["ready"];
}

/** What is said of one thing; it is never changed, so it is always up to date. */
export type Finding = Omit<Observation, "upToDate" | "status">;

/** At first, while something moves. */
export const movingMs = 2_000;
/** While the manager's word is not known here. */
const unknownMs = 60_000;

/** Lives for one reconcile. `A`: what its status shows. */
export class MadeOnce<A> {
  readonly annotations: CriticalAnnotations;
  readonly #options: Omit<MadeOnceOptions<Managed>, "managed">;
  readonly #managed: Managed;
  readonly #call: OnceCall;
  #atProvider: A;

  constructor(source: CallSource, atProvider: A, options: Omit<MadeOnceOptions<Managed>, "managed">) {
    this.annotations = new CriticalAnnotations(source.managed, options.updateCriticalAnnotations);
    this.#options = options;
    this.#managed = source.managed;
    this.#call = new OnceCall({ ...options, ...source, annotations: this.annotations });
    this.#atProvider = atProvider;
  }

  get atProvider(): A {
    return this.#atProvider;
  }

  get isDeleting(): boolean {
    return this.#managed.metadata.deletionTimestamp !== undefined;
  }

  get record(): OnceCall["record"] {
    return this.#call.record;
  }

  /** Whether it is not known what became of the call. */
  get isOpen(): boolean {
    return this.#call.isOpen;
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

  /** Makes it in its turn, unless it is there by now. `also` is written together with the intent. */
  make<T extends Item>(calls: OnceCalls<T>, also: AnnotationChanges, options: CallOptions): Promise<void> {
    return this.#inTurn(calls, () => this.#call.make(calls, also, options));
  }

  /** It calls no more, though the end of its turn may have been missed. */
  leaveTurn(): void {
    this.#options.turns.leave(this.#managed.metadata.uid ?? "");
  }

  observation(finding: Finding): Observation {
    return { upToDate: true, ...finding, status: { atProvider: this.#atProvider } };
  }

  /** Of a word of the manager that is not known here. */
  unknown(id: number, word: string, finding: Pick<Finding, "exists" | "ready">): Observation {
    const message = `the backup manager says that ${this.#what} ${id} is ${JSON.stringify(word)}, which is not known here`;
    return this.observation({ ...finding, message, pollAfterMs: unknownMs });
  }

  async #observe<T extends Item>(parts: MadeOnceParts<T>, options: CallOptions): Promise<Observation> {
    if (!this.isOpen) this.leaveTurn();
    const { record } = this;
    if (record.kind === "nothing") return this.observation({ exists: false, ready: "creating" });
    if (record.kind === "made") return parts.made(record.id);
    const calls = parts.calls();
    const waitMs = await this.#inTurn(calls, () => this.#call.look(calls, options));
    const { record: now } = this;
    if (now.kind === "made") return parts.made(now.id);
    return this.observation({
      exists: waitMs !== undefined,
      ready: parts.ready,
      message: `it is not known whether the backup manager got the request; the ${this.#what} is looked for in its list`,
      pollAfterMs: waitMs,
      keepsBackOff: waitMs !== undefined,
    });
  }

  #inTurn<R>({ instanceId }: { readonly instanceId: string }, work: () => Promise<R>): Promise<R> {
    const { turns, applicant } = this.#options;
    return turns.take(applicant(instanceId), work, () => this.isOpen);
  }

  get #what(): string {
    return this.#managed.kind.toLowerCase();
  }
}
