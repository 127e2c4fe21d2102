/** Reads what of a konnector is in an app cluster: its namespace, Deployment and account, and whether one works. */
import { consumerNamespace, konnectorName, unbindFinalizer, type APIServiceBinding } from "@klutch/api";
import { type Deployment, deployments, namespaces, serviceAccounts } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { konnectorLease, type LeaseState } from "./konnector-lease.ts";

/** State of the konnector of an app cluster and of its namespace. */
export interface Home {
  readonly namespace: "active" | "terminating" | "missing";
  /** Time of the namespace's deletion. */
  readonly terminatingSince: string | undefined;
  readonly deployment: Deployment | undefined;
  readonly hasAccount: boolean;
  readonly lease: LeaseState | undefined;
}

/** Reads it. */
export async function readHome({ signal, clock }: CliContext, consumer: Consumer): Promise<Home> {
  const { client } = consumer;
  const ref = { namespace: consumerNamespace, name: konnectorName };
  const [namespace, deployment, account, lease] = await Promise.all([
    client.find(namespaces, { name: consumerNamespace }, { signal }),
    client.find<Deployment>(deployments, ref, { signal }),
    client.find(serviceAccounts, ref, { signal }),
    konnectorLease(consumer, clock.now(), signal),
  ]);
  const terminatingSince = namespace?.metadata.deletionTimestamp;
  return {
    namespace:
      namespace === undefined ? "missing" : terminatingSince === undefined ? "active" : "terminating",
    terminatingSince,
    deployment,
    hasAccount: account !== undefined,
    lease,
  };
}

/** Returns true if a konnector renews the lease. */
export function hasLiveKonnector({ lease }: Home): boolean {
  return lease?.isLive === true;
}

/** Returns true if the binding does not go before a konnector has released its claims. */
export function needsKonnector({ metadata }: APIServiceBinding): boolean {
  return metadata.finalizers?.includes(unbindFinalizer) === true;
}

/** Names of bindings, for people. */
export function namesOf(bindings: readonly APIServiceBinding[]): string {
  return bindings
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted()
    .join(", ");
}
