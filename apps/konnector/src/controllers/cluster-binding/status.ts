/** The status of a ClusterBinding that the agent writes: that it lives, and what it has to say of its credentials. */
import { type ForeignClusterBinding, klutchVersion } from "@klutch/api";
import { type NewCondition, setConditions, wholeSeconds } from "@klutch/kube-core";

/** A Go duration. Backends wait twice this time before they call a cluster unhealthy: less than two minutes (designs/0015). */
const promisedInterval = "55s";

/** Report of the agent. */
export interface Heartbeat {
  readonly conditions: readonly NewCondition[];
  /** The public key with which this cluster can come back; undefined keeps the present one. */
  readonly renewalKey: string | undefined;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
  /** The time of the last heartbeat stays when it is younger. */
  readonly heartbeatMs: number;
}

/** The status that is wanted. */
export function statusOf(
  { status }: Pick<ForeignClusterBinding, "status">,
  { conditions, renewalKey, now, heartbeatMs }: Heartbeat,
): ForeignClusterBinding["status"] {
  const last = Date.parse(status.lastHeartbeatTime ?? "");
  const isDue = !(now - last < heartbeatMs);
  return {
    ...status,
    ...(renewalKey === undefined ? {} : { renewalKey }),
    lastHeartbeatTime: isDue ? wholeSeconds(now) : status.lastHeartbeatTime,
    heartbeatInterval: promisedInterval,
    konnectorVersion: klutchVersion,
    conditions: setConditions(status.conditions, conditions, now),
  };
}
