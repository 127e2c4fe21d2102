/**
 * Holds upstream deletions that look like an accident: the CRD itself is being deleted, or most claims are deleted within a minute.
 * The binding's condition `DeletionHeld` reports the hold and keeps it across restarts; a later `release-deletions` annotation ends it.
 */
import type { Condition } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import { isMassDeletion } from "@klutch/sync";
import { LastMinute, minuteMs } from "./last-minute.ts";

/** Options of a breaker. */
export interface BreakerOptions {
  readonly clock: Clock;
  /** 0 switches counting off. */
  readonly limit: number;
  /** Called when the hold begins (with why) and when it ends (with undefined). */
  readonly onChange: (why: string | undefined) => void;
}

/** Counts deletions and living claims over one minute, for one bound API. Does not decide who may release a hold. */
export class DeletionBreaker {
  readonly #options: BreakerOptions;
  readonly #deletions: LastMinute;
  /** Most living claims in each sixth of the window. */
  #peaks: { readonly at: number; alive: number }[] = [];
  #alive = 0;
  #why: string | undefined;
  #releasedAt = Number.NEGATIVE_INFINITY;
  #heldCrd: string | undefined;
  #releasedCrd: string | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#deletions = new LastMinute(options.clock);
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

  /** Returns true if one more upstream object may be deleted now, and counts it. */
  admit(): boolean {
    if (this.isHeld) return false;
    const peak = Math.max(0, ...this.#peaks.map(({ alive }) => alive));
    const recent = this.#deletions.count;
    if (isMassDeletion({ recent, peak, alive: this.#alive, limit: this.#options.limit })) {
      this.hold(`${recent} objects were deleted within a minute and ${this.#alive} of ${peak} are left`);
      return false;
    }
    this.#deletions.add();
    return true;
  }

  /** Holds all deletions from now on. */
  hold(why: string): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#options.onChange(why);
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
    this.#deletions.clear();
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
