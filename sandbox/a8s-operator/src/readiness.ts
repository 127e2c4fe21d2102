/** Decides whether an instance whose first server runs is ready. */
import type { Ready } from "./objects.ts";

/** `following` counts the standbys that follow now; undefined when this machine cannot make any. */
export function readinessOf({
  replicas,
  following,
}: {
  readonly replicas: number;
  readonly following: number | undefined;
}): Ready {
  if (following === undefined && replicas > 1)
    return {
      isReady: false,
      reason: "OneServer",
      message: `spec.replicas is ${replicas}, but this operator runs one server for each instance, because the PostgreSQL here has no pg_basebackup; install the package postgresql-15 and make a new instance, or choose a plan of one server`,
    };
  const running = 1 + (following ?? 0);
  if (running >= replicas) return { isReady: true, reason: "Running" };
  const message = `${running} of ${replicas} servers are there; the other standbys are copied or catch up`;
  return { isReady: false, reason: "StandbysMissing", message };
}
