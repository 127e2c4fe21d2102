/** Names that fit where they go. */
import { createHash } from "node:crypto";
import { maxLabelLength } from "./dns-name.ts";

/**
 * The name itself when it is short enough; otherwise its beginning and a hash of the whole, so that it stays readable, does not
 * change, and two long names never meet.
 */
export function boundedName(name: string, maxLength: number = maxLabelLength): string {
  if (name.length <= maxLength) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  return `${name.slice(0, maxLength - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
}
