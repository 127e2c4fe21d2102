/** What an instance's status says of it. */
import { type ServiceInstanceObservation, wholeSeconds } from "@klutch/api";

/** The status with a new state; times move only when the state does. `now` in milliseconds since the epoch. */
export function withState(
  present: ServiceInstanceObservation,
  instanceId: string,
  change: { readonly from: string | undefined; readonly to: string | undefined; readonly now: number },
): ServiceInstanceObservation {
  const now = wholeSeconds(change.now);
  const { createdAt = change.to === undefined ? undefined : now } = present;
  return {
    ...present,
    state: change.to,
    instanceId,
    createdAt,
    provisionedAt: change.to === "provisioned" ? (present.provisionedAt ?? now) : present.provisionedAt,
    updatedAt: change.to === change.from ? present.updatedAt : now,
  };
}
