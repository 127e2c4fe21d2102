/** Reads from a refusal what a ResourceQuota of the server had against the object. */
import { isForbidden } from "./errors.ts";

/** `Exceeded`: there is no room for the object. `NotCounted`: the quota is new, and nothing has counted for it yet, which passes by itself. */
export type QuotaRefusal = "Exceeded" | "NotCounted";

/** The words of the admission plugin ResourceQuota, which has no other marks (Kubernetes 1.29 to 1.37). */
const words: readonly (readonly [string, QuotaRefusal])[] = [
  ["exceeded quota: ", "Exceeded"],
  ["status unknown for quota: ", "NotCounted"],
];

/** Returns undefined if no quota refused. A quota that is exceeded counts before one that is not counted: the first does not pass. */
export function quotaRefusalOf(error: unknown): QuotaRefusal | undefined {
  if (!isForbidden(error)) return undefined;
  return words.find(([text]) => error.message.includes(text))?.[1];
}
