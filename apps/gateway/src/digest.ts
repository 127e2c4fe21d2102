/** Names for credentials that tell nothing about them. */
import { createHmac, randomBytes } from "node:crypto";

const key = randomBytes(32);

/** Returns a name for a credential which tells nothing about it, and holds for this process only. */
export function digestOf(authorization: string): string {
  return createHmac("sha256", key).update(authorization).digest("base64url");
}

/** Returns the moment within an interval at which the questions of a credential are asked: together, and apart from those of others. */
export function phaseOf(authorization: string, intervalMs: number): number {
  const digest = createHmac("sha256", key).update(authorization).digest();
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * intervalMs);
}
