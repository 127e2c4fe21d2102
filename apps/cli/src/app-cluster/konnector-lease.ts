/** The lease that the konnector which works for an app cluster renews. */
import { consumerNamespace } from "@klutch/api";
import { type Lease, leases } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";

/** State of the konnector's lease. */
export interface LeaseState {
  /** Identity of the holder; `""` if there is none. */
  readonly holder: string;
  /** Seconds since the last renewal. */
  readonly ageSeconds: number;
  readonly durationSeconds: number;
  /** True if it has a holder that renewed it in time. */
  readonly isLive: boolean;
}

/** Reads the lease. Returns undefined if no konnector ever led in this cluster. */
export async function konnectorLease(
  { client }: Consumer,
  now: number,
  signal: AbortSignal,
): Promise<LeaseState | undefined> {
  const ref = { namespace: consumerNamespace, name: consumerNamespace };
  const lease = await client.find<Lease>(leases, ref, { signal });
  if (lease?.spec?.renewTime === undefined) return undefined;
  const { holderIdentity: holder = "", leaseDurationSeconds: durationSeconds = 15, renewTime } = lease.spec;
  const ageSeconds = Math.round((now - Date.parse(renewTime)) / 1000);
  return { holder, ageSeconds, durationSeconds, isLive: holder !== "" && ageSeconds <= durationSeconds };
}
