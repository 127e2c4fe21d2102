/**
 * Holds upstream deletions that look like an accident: the CRD itself is being deleted, or many claims go at once and most
 * of them are gone. What is held is said by the binding's condition `DeletionHeld`; it outlives restarts there, and a later
 * `release-deletions` annotation ends it.
 */
import type { Condition } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import { isMassDeletion } from "@klutch/sync";

/** What a breaker needs. */
export interface BreakerOptions {
  readonly clock: Clock;
  /** 0 switches counting off. */
  readonly limit: number;
  /** Called when the hold begins (with why) and when it ends (with undefined). */
  readonly onChange: (why: string | undefined) => void;
}

const windowMs = 60_000;

/** Counts over one minute. One for each bound API; it decides nothing about who may release it. */
export class DeletionBreaker {
  readonly #options: BreakerOptions;
  #deletions: number[] = [];
  /** Most living claims by window. */
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

  /** When a person last let deletions go on, in monotonic milliseconds: what was found missing before that is confirmed. */
  get releasedAt(): number {
    return this.#releasedAt;
  }

  /** How many claims live, neither gone nor being deleted. */
  setAlive(alive: number): void {
    this.#alive = alive;
    const now = this.#options.clock.monotonic();
    const last = this.#peaks.at(-1);
    if (last !== undefined && now - last.at < windowMs / 6) last.alive = Math.max(last.alive, alive);
    else this.#peaks.push({ at: now, alive });
    while ((this.#peaks[0]?.at ?? now) < now - windowMs && this.#peaks.length > 1) this.#peaks.shift();
  }

  /** How many there were when this process began, those included that were being deleted already. */
  setInitial(population: number): void {
    this.#peaks.push({ at: this.#options.clock.monotonic(), alive: population });
  }

  /** Whether one more upstream object may be deleted now; counts it when it may. */
  admit(): boolean {
    if (this.isHeld) return false;
    const { clock, limit } = this.#options;
    const now = clock.monotonic();
    this.#deletions = this.#deletions.filter((at) => now - at < windowMs);
    const peak = Math.max(0, ...this.#peaks.map(({ alive }) => alive));
    const recent = this.#deletions.length;
    if (isMassDeletion({ recent, peak, alive: this.#alive, limit })) {
      this.hold(`${recent} objects were deleted within a minute and ${this.#alive} of ${peak} are left`);
      return false;
    }
    this.#deletions.push(now);
    return true;
  }

  /** Holds all deletions from now on. */
  hold(why: string): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#options.onChange(why);
  }

  /** Holds while the CRD itself is being deleted, unless just that was released. */
  holdForCrd(name: string, deletionTimestamp: string): void {
    if (this.#releasedCrd === deletionTimestamp) return;
    this.#heldCrd = deletionTimestamp;
    this.hold(`CustomResourceDefinition ${name} is being deleted, and with it all claims of this API`);
  }

  /** A person confirmed that this deletion of the CRD is meant. */
  releaseCrd(deletionTimestamp: string): void {
    this.#releasedCrd = deletionTimestamp;
  }

  /** Ends the hold; what was counted is forgotten. */
  release(): void {
    this.#releasedAt = this.#options.clock.monotonic();
    this.#deletions = [];
    this.#peaks = [];
    this.#releasedCrd = this.#heldCrd ?? this.#releasedCrd;
    this.setAlive(this.#alive);
    if (this.#why === undefined) return;
    this.#why = undefined;
    this.#options.onChange(undefined);
  }
}

/** Whether the annotation names a time after the hold began. Whole seconds, as conditions have them. */
export function isReleased(held: Condition, release: string | undefined): boolean {
  const at = Date.parse(release ?? "");
  return Number.isFinite(at) && at >= Date.parse(held.lastTransitionTime);
}
