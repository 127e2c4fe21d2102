/**
 * Notices that the provider was restored from an earlier state, for one bound API, and holds new objects of claims that lost theirs. Versions of one
 * resource at one server only grow, so a list that is older than what was seen before it was asked for shows a restore. A restore that raises the
 * versions on purpose, as `etcdutl snapshot restore --bump-revision` does, shows as a leap. The binding's condition `CreationHeld` reports the hold
 * and keeps it across restarts; a `release-creations` annotation ends it. State only: no I/O.
 *
 * A provider that lies about a restore makes claims wait that have no object, and nothing else. One that hides a restore is not noticed.
 */
import type { Clock } from "@klutch/kube";
import { isNewerVersion } from "@klutch/kube-runtime";
import type { HeldCreations } from "@klutch/sync";

/** Options of a hold. */
export interface CreationHoldOptions {
  /** Name of the API's binding: `<plural>.<group>`. */
  readonly name: string;
  readonly clock: Pick<Clock, "now">;
  /** Called with the time of the restore when the first claim is held, and with undefined when none is held any more. */
  readonly onChange: (since: number | undefined) => void;
}

/** The usual raise is 1,000,000,000. A busy etcd needs days for half of it. */
const leap = 500_000_000n;

/** Knows the highest version of the provider's resource, and which claims are held. Does not judge claims. */
export class CreationHold {
  readonly #options: CreationHoldOptions;
  #highest: string | undefined;
  #held: HeldCreations | undefined;
  readonly #keys = new Set<string>();
  #isSaid = false;
  #restores = 0;

  constructor(options: CreationHoldOptions) {
    this.#options = options;
  }

  /** The restore that no person has answered; undefined while there is none, which costs a claim nothing. */
  get held(): HeldCreations | undefined {
    return this.#held;
  }

  /** The highest version that was seen since the last restore; undefined before the first. */
  get highest(): string | undefined {
    return this.#highest;
  }

  /** Number of restores that were noticed: what a cache showed before the last one says nothing about versions of today. */
  get restores(): number {
    return this.#restores;
  }

  /** Takes a version that was seen. */
  saw(version: string | undefined): void {
    if (isBehind(this.#highest, version)) this.#highest = version;
    else if (this.#highest === undefined && isNumber(version)) this.#highest = version;
  }

  /** Takes the version of a complete list, and the highest that was seen before it was asked for. */
  listed(version: string, before: string | undefined): void {
    if (!isBehind(version, before) && !isLeap(before, version)) {
      this.saw(version);
      return;
    }
    this.#restores++;
    this.#highest = version;
    this.#held = { api: this.#options.name, since: this.#options.clock.now() };
  }

  /** Continues the hold of an earlier process, which began then. */
  resume(since: number): void {
    this.#held ??= { api: this.#options.name, since };
    this.#isSaid = true;
  }

  /** Takes whether a claim is held. A hold of an earlier process goes on until it has held a claim in this one, and let go of it. */
  judged(key: string, isHeld: boolean): void {
    if (!isHeld) {
      this.#letGo(key);
      return;
    }
    this.#keys.add(key);
    if (this.#isSaid || this.#held === undefined) return;
    this.#isSaid = true;
    this.#options.onChange(this.#held.since);
  }

  /** Ends the hold by a person's word. */
  release(): void {
    this.#held = undefined;
    this.#keys.clear();
    this.#isSaid = false;
    this.#options.onChange(undefined);
  }

  #letGo(key: string): void {
    if (!this.#keys.delete(key) || this.#keys.size > 0) return;
    this.#isSaid = false;
    this.#options.onChange(undefined);
  }
}

/** Returns true if both are numbers (KEP-5504), and the first is smaller. */
export function isBehind(version: string | undefined, other: string | undefined): boolean {
  return isNumber(version) && isNumber(other) && isNewerVersion(other, version);
}

function isLeap(from: string | undefined, to: string): boolean {
  return isNumber(from) && isNumber(to) && BigInt(to) - BigInt(from) >= leap;
}

function isNumber(version: string | undefined): version is string {
  return version !== undefined && /^[1-9]\d{0,19}$/.test(version);
}
