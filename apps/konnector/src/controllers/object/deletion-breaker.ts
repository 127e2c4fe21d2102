/**
 * Holds upstream deletions that look like an accident: the CRD itself is being deleted, or many claims and at least half of them are deleted
 * within a minute, or a namespace is deleted with many claims (deleted-namespaces.ts), whose claims alone are held then. Each deletion waits
 * a moment first, because an accident deletes one claim after the other. The binding's condition `DeletionHeld` reports the hold and keeps it
 * across restarts; a later `release-deletions` annotation ends it.
 */
import type { Condition } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import { isMassDeletion } from "@klutch/sync";
import type { NamespaceVerdict } from "./deleted-namespaces.ts";
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
  /** Called when the hold begins or its message changes, and when it ends (with undefined). */
  readonly onChange: (why: string | undefined, reason: HoldReason) => void;
}

/** Reason of the condition. */
export type HoldReason = "MassDeletion" | "NamespaceDeletion";

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
  /** Messages of claims that are held with their namespace. */
  readonly #heldKeys = new Map<string, string>();
  /** Claims whose deletion is judged with their namespace, and so does not count as one of many. */
  readonly #apart = new Set<string>();
  /** The message of an earlier process's hold of namespaces, until each claim that was being deleted then is judged. */
  #resumed: string | undefined;
  #unjudged: Set<string> | undefined;
  #said: string | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** True while all deletions of the API are held. */
  get isHeld(): boolean {
    return this.#why !== undefined;
  }

  /** True while any deletion is held. */
  get holdsAny(): boolean {
    return this.#said !== undefined;
  }

  /** Returns why the deletion of this claim is held; undefined if it is not. */
  whyHeld(key: string): string | undefined {
    return this.#why ?? this.#heldKeys.get(key);
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

  /** Takes the number of claims when this process started, including those that were being deleted already, and the keys of these. */
  setInitial(population: number, deleting: Iterable<string> = []): void {
    this.#peaks.push({ at: this.#options.clock.monotonic(), alive: population });
    this.#unjudged = new Set(deleting);
    this.#report();
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
    this.#apart.delete(key);
    this.judged(key, { state: "free" });
  }

  /** Takes what the claim's namespace says about its deletion. One that is held or confirmed with its namespace is none of many. */
  judged(key: string, verdict: NamespaceVerdict): void {
    this.#unjudged?.delete(key);
    if (verdict.state === "held") this.#heldKeys.set(key, verdict.why);
    else this.#heldKeys.delete(key);
    if ((verdict.state === "held" || verdict.state === "confirmed") && !this.#apart.has(key)) {
      this.#apart.add(key);
      for (const peak of this.#peaks) peak.alive = Math.max(0, peak.alive - 1);
    }
    this.#report();
  }

  /** Continues the hold of namespaces of an earlier process with its message, until each deletion is judged again. */
  resumeNamespaces(message: string): void {
    this.#resumed ??= message;
    this.#said ??= message;
    this.#report();
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
    this.#why ??= message;
    this.#report();
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
    this.#why = undefined;
    this.#resumed = undefined;
    this.#heldKeys.clear();
    this.#report();
  }

  #report(): void {
    if (this.#unjudged?.size === 0) this.#resumed = undefined;
    const namespaces = [...new Set(this.#heldKeys.values())].toSorted();
    const said = this.#why ?? (namespaces.length > 0 ? namespaces.join(". ") : this.#resumed);
    if (said === this.#said) return;
    this.#said = said;
    this.#options.onChange(said, this.#why === undefined ? "NamespaceDeletion" : "MassDeletion");
  }
}

/** Returns true if the annotation names a time after the hold began, in whole seconds like the times of conditions. */
export function isReleased(held: Condition, release: string | undefined): boolean {
  const at = Date.parse(release ?? "");
  return Number.isFinite(at) && at >= Date.parse(held.lastTransitionTime);
}
