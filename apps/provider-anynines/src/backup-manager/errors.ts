/** What a backup manager's errors become in conditions. */
import {
  BackupManagerError,
  type BackupManagerTransportCode,
  BackupManagerTransportError,
  isGone,
  isRefusal,
  mayHaveHappened,
} from "@klutch/backup-manager";
import { ExternalError } from "@klutch/crossplane";

/** `question`: nothing was to be changed, so an answer of no is not about the spec. */
export type Asked = "question" | "change";

/** The manager's own words for the condition. Its credentials never travel in errors; other errors are given back as they are. */
export function toExternalError(error: unknown, asked: Asked): unknown {
  if (error instanceof BackupManagerError) {
    const { message, retryAfterMs } = error;
    return new ExternalError(message, { cause: error, retryAfterMs, reason: reasonOf(error, asked) });
  }
  if (error instanceof BackupManagerTransportError) {
    const reason = withoutAnswer.has(error.code) ? "BrokerUnreachable" : undefined;
    return new ExternalError(error.message, { cause: error, reason });
  }
  return error;
}

const withoutAnswer: ReadonlySet<BackupManagerTransportCode> = new Set(["Unreachable", "Timeout", "Tls"]);
/** By what stands before a manager, when it does not answer. */
const gatewayStatuses: readonly number[] = [408, 502, 503, 504];
/** Something else goes on. */
const busyStatuses: readonly number[] = [409, 423, 429];

function reasonOf(error: BackupManagerError, asked: Asked): string | undefined {
  if (gatewayStatuses.includes(error.status)) return "BrokerUnreachable";
  if (busyStatuses.includes(error.status)) return "BrokerBusy";
  return asked === "change" && isRefusal(error) ? "Refused" : undefined;
}

/**
 * Whether the manager says that it did not do what was asked. Only in its own words, because a proxy may answer in its place and let the
 * call through all the same; and not 429 and 408, by which something gave up waiting for it.
 */
export function isClearNo(error: unknown): boolean {
  if (error instanceof BackupManagerError)
    return error.own && error.status !== 429 && !mayHaveHappened(error);
  return !mayHaveHappened(error);
}

/** What the manager lists; nothing of an instance that it does not know. The call that creates says so in its own words. */
export async function listOrNothing<T>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await list();
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}
