/**
 * Lets one creating call run at a time for each instance, even while the watch does not show yet what this process has just written. Otherwise
 * no one could tell the result of a lost answer from the result of another call.
 */
import { NotYetError } from "@klutch/crossplane";

/** A managed resource that wants to call. */
export interface Applicant {
  /** Such as `Backup one`. */
  readonly name: string;
  readonly uid: string;
  /** Key of the instance: only one call with the same key runs at a time. */
  readonly key: string;
  /** True when its call is recorded as open. */
  readonly isOpen: boolean;
  /** Others whose calls the caches show as open. */
  readonly open: readonly string[];
}

const waitMs = 5_000;

/** The calls that run in this process, by key. */
export class InstanceLocks {
  readonly #holders = new Map<string, Pick<Applicant, "name" | "uid">>();
  readonly #isThere: (uid: string) => boolean;

  /** `isThere`: whether the caches still have a managed resource of this UID. */
  constructor(isThere: (uid: string) => boolean) {
    this.#isThere = isThere;
  }

  /**
   * Runs `work` while the applicant holds the lock of its instance. Throws `NotYetError` while another one holds it. Afterwards the applicant
   * keeps the lock as long as `isStillOpen` says that its call is open.
   */
  async hold<T>(applicant: Applicant, work: () => Promise<T>, isStillOpen: () => boolean): Promise<T> {
    const { key, name, uid } = applicant;
    const other = this.#otherThan(applicant);
    if (other !== undefined) {
      throw new NotYetError(`${other} of the same instance is being made; this one begins afterwards`, {
        requeueAfterMs: waitMs,
        reason: "BrokerBusy",
      });
    }
    this.#holders.set(key, { name, uid });
    try {
      return await work();
    } finally {
      if (!isStillOpen()) this.#holders.delete(key);
    }
  }

  /** Releases the locks of a managed resource whose call has ended. */
  release(uid: string): void {
    for (const [key, holder] of this.#holders) if (holder.uid === uid) this.#holders.delete(key);
  }

  #otherThan({ key, uid, isOpen, open }: Applicant): string | undefined {
    const holder = this.#holders.get(key);
    if (holder !== undefined && holder.uid !== uid && this.#isThere(holder.uid)) return holder.name;
    // Of several that are open, as another provider may have left them, any may go on.
    return isOpen ? undefined : open[0];
  }
}
