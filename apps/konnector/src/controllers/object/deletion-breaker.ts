/**
 * Holds upstream deletions that look like an accident: the CRD itself is being deleted, or many claims and at least half of them are deleted
 * within a minute. Each deletion waits a moment first, because an accident deletes one claim after the other. The binding's condition
 * `DeletionHeld` reports the hold and keeps it across restarts; a later `release-deletions` annotation ends it.
 */
import type { Condition } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import { isMassDeletion } from "@klutch/sync";
import { minuteMs } from "./last-minute.ts";

/** Options of a breaker. */
export interface BreakerOptions {
  /** Name of the API's binding: `<plural>.<group>`. */
  readonly name: string;
  readonly clock: Clock;
  /** Fewer deleted claims are never held. 0 switches counting off. */
  readonly limit: number;
  /** Time that a deletion waits for others, in milliseconds. */
  readonly settleMs: number;
  /** Called when the hold begins (with its message) and when it ends (with undefined). */
  readonly onChange: (why: string | undefined) => void;
}

/** Counts living claims over one minute, for one bound API. Does not decide who may release a hold. */
export class DeletionBreaker {
  readonly #options: BreakerOptions;
  /** When the deletion of each claim was first seen, until its upstream object may be deleted. */
  readonly #seen = new Map<string, number>();
  /** Most living claims in each sixth of the window. */
  #peaks: { readonly at: number; alive: number }[] = [];
  #alive = 0;
  #why: string | undefined;
  #releasedAt = Number.NEGATIVE_INFINITY;
  #heldCrd: string | undefined;
  #releasedCrd: string | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#why !== undefined;
  }

  /** Time at which a person last released deletions, in monotonic milliseconds: absences found before it are confirmed. */
  get releasedAt(): number {
    return this.#releasedAt;
  }

  /** Takes the number of claims that are not being deleted. */
  setAlive(alive: number): void {
    this.#alive = alive;
    const now = this.#options.clock.monotonic();
    const last = this.#peaks.at(-1);
    if (last !== undefined && now - last.at < minuteMs / 6) last.alive = Math.max(last.alive, alive);
    else this.#peaks.push({ at: now, alive });
    while ((this.#peaks[0]?.at ?? now) < now - minuteMs && this.#peaks.length > 1) this.#peaks.shift();
  }

  /** Takes the number of claims when this process started, including those that were being deleted already. */
  setInitial(population: number): void {
    this.#peaks.push({ at: this.#options.clock.monotonic(), alive: population });
  }

  /** Returns the milliseconds for which the deletion of this claim has to wait; 0 where so few claims live that no number of deletions is held. */
  waitMs(key: string): number {
    const { clock, limit, settleMs } = this.#options;
    if (this.isHeld || limit === 0 || this.#peak < limit) return 0;
    const now = clock.monotonic();
    const since = this.#seen.get(key) ?? now;
    this.#seen.set(key, since);
    return Math.max(0, since + settleMs - now);
  }

  /** Forgets a claim that is gone: another one of its name waits from the beginning. */
  forget(key: string): void {
    this.#seen.delete(key);
  }

  /** Returns true if one more upstream object may be deleted now. */
  admit(): boolean {
    if (this.isHeld) return false;
    const [peak, alive] = [this.#peak, this.#alive];
    if (isMassDeletion({ peak, alive, limit: this.#options.limit })) {
      this.hold(`${peak - alive} of ${peak} claims were deleted within a minute`);
      return false;
    }
    return true;
  }

  get #peak(): number {
    return Math.max(0, ...this.#peaks.map(({ alive }) => alive));
  }

  /** Holds all deletions from now on; `why` begins the sentence that people read. */
  hold(why: string): void {
    this.resume(
      `${why}; nothing more is deleted upstream. If this is intended: klutch release ${this.#options.name}`,
    );
  }

  /** Continues the hold of an earlier process with its message. */
  resume(message: string): void {
    if (this.#why !== undefined) return;
    this.#why = message;
    this.#options.onChange(message);
  }

  /** Holds while the CRD itself is being deleted, unless a person released this very deletion. */
  holdForCrd(name: string, deletionTimestamp: string): void {
    if (this.#releasedCrd === deletionTimestamp) return;
    this.#heldCrd = deletionTimestamp;
    this.hold(`CustomResourceDefinition ${name} is being deleted, and with it all claims of this API`);
  }

  /** Notes that a person confirmed this deletion of the CRD. */
  releaseCrd(deletionTimestamp: string): void {
    this.#releasedCrd = deletionTimestamp;
  }

  /** Ends the hold, and starts counting from zero. */
  release(): void {
    this.#releasedAt = this.#options.clock.monotonic();
    this.#peaks = [];
    this.#releasedCrd = this.#heldCrd ?? this.#releasedCrd;
    this.setAlive(this.#alive);
    if (this.#why === undefined) return;
    this.#why = undefined;
    this.#options.onChange(undefined);
  }
}

/** Returns true if the annotation names a time after the hold began, in whole seconds like the times of conditions. */
export function isReleased(held: Condition, release: string | undefined): boolean {
  const at = Date.parse(release ?? "");
  return Number.isFinite(at) && at >= Date.parse(held.lastTransitionTime);
}
