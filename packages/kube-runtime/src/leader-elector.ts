/**
 * A lease in the cluster decides which process may write (KEP-589 style). The elector is the write guard of the other clients:
 * a write is refused when the last renewal is older than the renew deadline, which is shorter than the lease, so that the
 * lease cannot have passed on yet.
 */
import {
  type Clock,
  FencedError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  type KubeClient,
  systemClock,
  type WriteGuard,
} from "@klutch/kube";
import { type Lease, leases, microTime } from "@klutch/kube-core";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { type WaitEnd, whileHeld } from "./held-lease.ts";

/** Options of an elector. Times in milliseconds. */
export interface LeaderElectorOptions {
  /** Must not carry this elector as its write guard. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the competitors, such as the pod's name. */
  readonly identity: string;
  /** Default 15 000. */
  readonly leaseDurationMs?: number | undefined;
  /** Default 10 000. */
  readonly renewDeadlineMs?: number | undefined;
  /** Interval at which a process that does not lead reads the lease when it cannot watch it. Default 2 000. */
  readonly retryPeriodMs?: number | undefined;
  /** Interval at which the leader renews; one request each. Default 5 000. */
  readonly renewPeriodMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** Time before a watch that was refused or silent is tried again. */
const distrustMs = 600_000;

/**
 * Competes for the lease while `run` runs, and gives it back at the end. It does not stop the work of a process that lost the lease:
 * `signal` aborts, writes are refused, and the caller ends the work.
 */
export class LeaderElector implements WriteGuard {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  readonly #renewPeriodMs: number;
  /** The lease as our last write left it. */
  #held: Lease | undefined;
  #term: AbortController | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** Last observation of another holder's lease, by our own clock: other machines' clocks are not trusted. */
  #observed: { readonly version: string; readonly at: number; readonly durationMs: number } | undefined;
  #waiters: ((signal: AbortSignal) => void)[] = [];
  /** The lease of another process as it was last read; undefined when no other process was seen to hold it. */
  #foreign: Lease | undefined;
  /** Reason for which a watch reported a change. */
  #wokenBy: WaitEnd | undefined;
  /** Until then the lease is not watched, by our own clock. */
  #watchAgainAt = Number.NEGATIVE_INFINITY;

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = (options.logger ?? silentLogger).child({ lease: `${options.namespace}/${options.name}` });
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2_000;
    this.#renewPeriodMs = options.renewPeriodMs ?? Math.min(5_000, this.#renewDeadlineMs / 2);
  }

  isLeader(): boolean {
    return this.#term !== undefined && this.#clock.monotonic() - this.#renewedAt < this.#renewDeadlineMs;
  }

  /** Throws `FencedError` unless this process holds the lease right now. */
  assertMayWrite(): void {
    if (!this.isLeader()) throw new FencedError(`not writing: the lease ${this.#options.name} is not ours`);
  }

  /** Signal of the present term; aborted when there is none. */
  get signal(): AbortSignal {
    return (
      this.#term?.signal ?? AbortSignal.abort(new FencedError(`the lease ${this.#options.name} is not ours`))
    );
  }

  /** Resolves to the term's signal as soon as this process leads. */
  whenLeading(): Promise<AbortSignal> {
    if (this.#term !== undefined && this.isLeader()) return Promise.resolve(this.#term.signal);
    const { promise, resolve } = Promise.withResolvers<AbortSignal>();
    this.#waiters.push(resolve);
    return promise;
  }

  /** Competes for and renews the lease until the signal aborts, then gives it back. */
  async run(options: { readonly signal: AbortSignal }): Promise<void> {
    const { signal } = options;
    while (!signal.aborted) {
      const answered = await this.#tryOnce(signal);
      this.#checkDeadline();
      if (answered && (await this.#standBy(signal))) continue;
      const waitMs = this.#term === undefined ? this.#retryPeriodMs : this.#renewPeriodMs;
      // A leader without an answer has little time left.
      const pauseMs = answered ? waitMs : Math.min(waitMs, this.#renewDeadlineMs / 20);
      await this.#clock.sleep(pauseMs, { signal }).catch(() => undefined);
    }
    await this.#release();
  }

  /**
   * Waits for the lease of another process. True when it is to be tried for at once; who was woken for nothing does not wait in this way
   * again before it has paused.
   */
  async #standBy(signal: AbortSignal): Promise<boolean> {
    const lease = this.#foreign;
    const wokenBy = this.#wokenBy;
    this.#wokenBy = undefined;
    if (this.#term !== undefined || lease === undefined) return false;
    // It was renewed, and the watch did not say so.
    if (wokenBy === "silent") this.#watchLater();
    if (wokenBy !== undefined || this.#clock.monotonic() < this.#watchAgainAt) return false;
    try {
      const silentMs = (): number => Math.max(this.#untilExpiryMs(), 0) + 5;
      const onRenewal = (renewed: Lease): void => void this.#hasExpired(renewed);
      const { client } = this.#options;
      const end = await whileHeld({ client, clock: this.#clock, lease, silentMs, onRenewal, signal });
      this.#wokenBy = end === "ended" ? undefined : end;
    } catch (error) {
      // An older Role does not have the right.
      if (isForbidden(error)) this.#watchLater();
    }
    return this.#wokenBy !== undefined;
  }

  /** A watch that is of no use now may be of use later: rights are given, and proxies that keep answers back go. */
  #watchLater(): void {
    this.#watchAgainAt = this.#clock.monotonic() + distrustMs;
  }

  /** Tries once to take or renew the lease; returns true if the server answered. */
  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const started = this.#clock.monotonic();
    const timeout = new AbortController();
    const cancel = this.#clock.schedule(this.#renewDeadlineMs * 0.3, () =>
      timeout.abort(new Error("the lease request took too long")),
    );
    try {
      const held = await this.#acquireOrRenew(AbortSignal.any([signal, timeout.signal]));
      // Counted from before the request: the server's time of renewal cannot be earlier.
      if (held) this.#lead(started);
      else this.#end("another process holds the lease");
      return true;
    } catch (error) {
      if (!signal.aborted) this.#logger.warn("the lease could not be renewed", { error });
      return false;
    } finally {
      cancel();
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const held = this.#held;
    this.#held = undefined;
    if (this.#term !== undefined && held !== undefined && (await this.#write(held, signal))) return true;
    const { client, namespace, name, identity } = this.#options;
    const lease = await client.find<Lease>(leases, { namespace, name }, { signal });
    const { holderIdentity = "" } = lease?.spec ?? {};
    // Who held a lease that was deleted does not know it yet, and writes until its next renewal.
    const isMissed = lease === undefined && this.#term === undefined && this.#untilExpiryMs() >= 0;
    const isForeign = lease !== undefined && holderIdentity !== "" && holderIdentity !== identity;
    const isHeld = isMissed || (isForeign && !this.#hasExpired(lease));
    this.#foreign = isHeld ? lease : undefined;
    if (isHeld) return false;
    this.#observed = undefined;
    return this.#write(lease, signal);
  }

  /** Takes the lease; returns false when another process was faster. */
  async #write(previous: Lease | undefined, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const lease = this.#leaseObject(previous);
    try {
      this.#held =
        previous === undefined
          ? await client.create(leases, lease, { signal })
          : await client.replace(leases, lease, { signal });
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }

  #hasExpired(lease: Lease): boolean {
    const version = lease.metadata.resourceVersion ?? "";
    const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    if (this.#observed?.version !== version)
      this.#observed = { version, at: this.#clock.monotonic(), durationMs };
    return this.#untilExpiryMs() < 0;
  }

  /** Returns the time until the last observed lease expires; below zero when it has expired. */
  #untilExpiryMs(): number {
    if (this.#observed === undefined) return Number.NEGATIVE_INFINITY;
    const { at, durationMs } = this.#observed;
    return at + durationMs - this.#clock.monotonic();
  }

  #leaseObject(previous: Lease | undefined): Lease {
    const { namespace, name, identity } = this.#options;
    const now = microTime(this.#clock.now());
    const isRenewal = previous?.spec?.holderIdentity === identity;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name, resourceVersion: previous?.metadata.resourceVersion },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.round(this.#leaseDurationMs / 1000),
        acquireTime: isRenewal ? previous.spec?.acquireTime : now,
        renewTime: now,
        leaseTransitions:
          (previous?.spec?.leaseTransitions ?? 0) + (isRenewal || previous === undefined ? 0 : 1),
      },
    };
  }

  #lead(renewedAt: number): void {
    this.#renewedAt = renewedAt;
    if (this.#term !== undefined) return;
    this.#term = new AbortController();
    this.#logger.info("leading");
    for (const resolve of this.#waiters.splice(0)) resolve(this.#term.signal);
  }

  #checkDeadline(): void {
    if (this.#term !== undefined && !this.isLeader()) this.#end("the lease was not renewed in time");
  }

  #end(reason: string): void {
    if (this.#term === undefined) return;
    this.#logger.warn("no longer leading", { reason });
    this.#term.abort(new FencedError(reason));
    this.#term = undefined;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
  }

  /** Lets the next process start at once. All writers must have stopped before. */
  async #release(): Promise<void> {
    if (this.#term === undefined) return;
    this.#end("stopping");
    const { client, namespace, name, identity } = this.#options;
    try {
      const lease = await client.find<Lease>(leases, { namespace, name });
      if (lease?.spec?.holderIdentity !== identity) return;
      await client.replace(leases, {
        ...lease,
        spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 },
      });
    } catch (error) {
      this.#logger.warn("the lease could not be given back; it expires by itself", { error });
    }
  }
}

/** Resolves to the term's signal as soon as the elector leads; to undefined when the signal aborts before. */
export async function leading(
  elector: Pick<LeaderElector, "whenLeading">,
  signal: AbortSignal,
): Promise<AbortSignal | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const term = await Promise.race([elector.whenLeading(), promise]);
  signal.removeEventListener("abort", onAbort);
  return term;
}
