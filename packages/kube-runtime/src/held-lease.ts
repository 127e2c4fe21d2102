/** Waits while another process holds a lease, told by a watch, so that a lease that is given back is taken at once. */
import type { Clock, KubeClient } from "@klutch/kube";
import { type Lease, leases } from "@klutch/kube-core";

/** Lease that is waited for. */
export interface HeldLease {
  readonly client: Pick<KubeClient, "watch">;
  readonly clock: Clock;
  /** As it was last read. */
  readonly lease: Lease;
  /** Without a change of the lease, in milliseconds; its holder may have died then. */
  readonly silentMs: () => number;
  /** Told each change that leaves it with a holder. */
  readonly onRenewal: (lease: Lease) => void;
  readonly signal: AbortSignal;
}

/** The reason for which the wait ends: the lease was given back or deleted, did not change for `silentMs`, or the server ended the watch. */
export type WaitEnd = "free" | "silent" | "ended";

/** Waits. Throws `ApiError` and `TransportError` when the lease cannot be watched. */
export async function whileHeld(options: HeldLease): Promise<WaitEnd> {
  const { client, clock, lease, silentMs, onRenewal, signal } = options;
  const { namespace, name, resourceVersion } = lease.metadata;
  const silent = new AbortController();
  const start = (): (() => void) => clock.schedule(silentMs(), () => silent.abort(new Error("no renewal")));
  let cancel = start();
  try {
    const scope = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion };
    const watch = { ...scope, signal: AbortSignal.any([signal, silent.signal]) };
    for await (const event of client.watch<Lease>(leases, watch)) {
      if (event.type === "BOOKMARK" || event.object.metadata.name !== name) continue;
      const { holderIdentity = "" } = event.object.spec ?? {};
      if (event.type === "DELETED" || holderIdentity === "") return "free";
      onRenewal(event.object);
      cancel();
      cancel = start();
    }
    return silent.signal.aborted ? "silent" : "ended";
  } catch (error) {
    if (silent.signal.aborted) return "silent";
    throw error;
  } finally {
    cancel();
  }
}
