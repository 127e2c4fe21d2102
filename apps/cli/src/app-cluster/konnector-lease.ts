/** The lease that the konnector which works for an app cluster renews. */
import { consumerNamespace } from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import { keyOf, type Lease, leases } from "@klutch/kube-core";
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
  return stateOf(await client.find<Lease>(leases, ref, { signal }), now);
}

/**
 * The leases beside the usual one that konnectors renew: all in the konnector's namespace, and those of its name elsewhere, as of a konnector in Go that
 * runs outside of a Pod. Those of AppClusterBindings, in their root namespaces, serve other clusters. As `namespace/name`; none when leases may not be listed.
 */
export async function otherKonnectorLeases(
  { client }: Consumer,
  now: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LeaseState>> {
  const others = new Map<string, LeaseState>();
  try {
    for await (const lease of client.listAll<Lease>(leases, { signal })) {
      const { namespace, name } = lease.metadata;
      const isHere = namespace === consumerNamespace;
      const isRoot = namespace?.startsWith(`${consumerNamespace}-`) === true;
      if (isHere ? name === consumerNamespace : isRoot || name !== consumerNamespace) continue;
      const state = stateOf(lease, now);
      if (state?.isLive === true) others.set(keyOf(lease), state);
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  return others;
}

function stateOf(lease: Lease | undefined, now: number): LeaseState | undefined {
  if (lease?.spec?.renewTime === undefined) return undefined;
  const { holderIdentity: holder = "", leaseDurationSeconds: durationSeconds = 15, renewTime } = lease.spec;
  const ageSeconds = Math.round((now - Date.parse(renewTime)) / 1000);
  return { holder, ageSeconds, durationSeconds, isLive: holder !== "" && ageSeconds <= durationSeconds };
}
