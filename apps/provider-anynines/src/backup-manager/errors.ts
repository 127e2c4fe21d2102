/** Translates a backup manager's errors into conditions. */
import {
  BackupManagerError,
  BackupManagerTransportError,
  isGone,
  isRefusal,
  mayHaveHappened,
} from "@klutch/backup-manager";
import { ExternalError } from "@klutch/crossplane";
import { type Asked, reasonOfAnswer, reasonWithoutAnswer } from "../operations/answers.ts";

/** The manager's own words for the condition. Its credentials never travel in errors; other errors are given back as they are. */
export function toExternalError(error: unknown, asked: Asked): unknown {
  if (error instanceof BackupManagerError) {
    const { message, retryAfterMs, status } = error;
    const answer = { status, isBusy: busyStatuses.includes(status), isRefusal: isRefusal(error) };
    return new ExternalError(message, { cause: error, retryAfterMs, reason: reasonOfAnswer(answer, asked) });
  }
  if (error instanceof BackupManagerTransportError) {
    return new ExternalError(error.message, { cause: error, reason: reasonWithoutAnswer(error.code) });
  }
  return error;
}

/** Something else goes on. */
const busyStatuses: readonly number[] = [409, 423, 429];

/**
 * Whether the manager says that it did not do what was asked. Only in its own words, because a proxy may answer in its place and let the
 * call through all the same; and not 429 and 408, by which something gave up waiting for it.
 */
export function isClearNo(error: unknown): boolean {
  if (error instanceof BackupManagerError)
    return error.own && error.status !== 429 && !mayHaveHappened(error);
  return !mayHaveHappened(error);
}

/** Returns the manager's list; an empty one for an instance that it does not know. The call that creates reports that in the manager's own words. */
export async function listOrNothing<T>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await list();
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** RFC 3339 in UTC with milliseconds. `timeMs`: since the epoch. */
export function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}
