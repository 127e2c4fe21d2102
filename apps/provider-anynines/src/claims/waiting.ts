/** What has to happen first in this cluster, for whoever waits for it. */
import { NotYetError } from "@klutch/crossplane";

/** What is waited for wakes whoever waits; this is for what is not seen. */
const unseenMs = 60_000;
const soonMs = 5_000;

/** Something has to be made or to become ready; asked again after a minute. */
export function notYet(message: string, waitingFor: "Instance" | "Backup" = "Instance"): NotYetError {
  return new NotYetError(message, { requeueAfterMs: unseenMs, reason: `WaitingFor${waitingFor}` });
}

/** Something runs and ends by itself; asked again after five seconds. */
export function notWhile(running: "Restore" | "Backup", message: string, cause?: Error): NotYetError {
  return new NotYetError(message, { cause, requeueAfterMs: soonMs, reason: `WaitingFor${running}` });
}
