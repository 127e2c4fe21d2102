/** Words the next step after an error status. */
import type { BackupManagerCall } from "./call.ts";
import { type BackupManagerErrorCode, errorCodeOf } from "./status.ts";

type Advice = Readonly<Partial<Record<BackupManagerErrorCode, string>>>;

const noInstance = "The manager does not know the instance; check its id and that it has not been deleted.";
const noBackup = "The backup or its instance is not there any more; nothing is left to do with it.";
const noRestore = "The restore or its instance is not there any more; nothing is left to do with it.";

const ofCalls: Readonly<Partial<Record<BackupManagerCall, Advice>>> = {
  createBackup: {
    NotFound: noInstance,
    Gone: noInstance,
    Conflict: "Something else is done to the instance; try again when it has ended.",
    Unprocessable: "The instance cannot be backed up as it is; wait until it is ready.",
    Locked: "The instance is in use; try again later.",
  },
  listBackups: { NotFound: noInstance, Gone: noInstance },
  getBackup: { NotFound: noBackup, Gone: noBackup },
  deleteBackup: {
    BadRequest: "The manager could not delete the backup's file; try again later, and look at its storage.",
    NotFound: noBackup,
    Gone: noBackup,
    Locked: "The backup is in use; try again when that has ended.",
  },
  createRestore: {
    NotFound: noBackup,
    Gone: "The backup's data have been deleted; restore another one.",
    Conflict:
      "A restore of the instance is running; look whether it is this one, else try again when it has ended.",
    Unprocessable: "The backup cannot be restored in the state that it is in; wait until it is done.",
    Locked: "The backup is in use; try again when that has ended.",
  },
  listRestores: { NotFound: noInstance, Gone: noInstance },
  getRestore: { NotFound: noRestore, Gone: noRestore },
  getInstanceConfig: { NotFound: noInstance, Gone: noInstance },
  updateBackupConfig: {
    BadRequest: "The manager does not take these values; change them.",
    NotFound: noInstance,
    Gone: noInstance,
    Unprocessable: "The manager does not take these values; change them.",
  },
  checkHealth: { NotFound: "There is nothing at this path; check the path and url." },
};

const ofAny: Readonly<Record<BackupManagerErrorCode, string>> = {
  BadRequest: "The request itself is wrong; sending it again will not help.",
  Unauthorized: "Check username and password.",
  Forbidden: "The user may not do this; use another one or give this one the right.",
  NotFound: "It is not there; check its id.",
  Conflict: "Something else is going on; try again when it has ended.",
  Gone: "It is not there any more.",
  Unprocessable: "The manager cannot do this in the present state; try again when that has changed.",
  Locked: "It is in use; try again later.",
  TooManyRequests: "Ask less often; try again later.",
  Redirect:
    "Redirects are not followed, because that would send the credentials elsewhere; set url to the final address.",
  ServerError: "The manager failed; try again, and look at its log.",
  UnexpectedStatus: "No backup manager answers so; check that url leads to one.",
};

/** Returns the next step as a sentence. `own`: the manager itself sent the error. */
export function adviceFor(call: BackupManagerCall, status: number, own: boolean): string {
  const code = errorCodeOf(status);
  if (!own && call !== "checkHealth" && (code === "NotFound" || code === "Gone"))
    return "These are not the manager's own words, so nothing counts as gone; check url and what stands before the manager.";
  return ofCalls[call]?.[code] ?? ofAny[code];
}
