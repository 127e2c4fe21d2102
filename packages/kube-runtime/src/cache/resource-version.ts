/** Order of two versions of one object. Kubernetes promises since 1.35 that resourceVersions compare as numbers (KEP-5504). */
import type { Cached } from "./store.ts";

/** Returns true if `left` is a later version than `right`. Versions that are not decimal numbers count as later: our own write was answered. */
export function isNewer(left: Cached, right: Cached): boolean {
  return isNewerVersion(left.metadata.resourceVersion, right.metadata.resourceVersion);
}

/** As `isNewer`, for versions alone; also of a list. */
export function isNewerVersion(a = "", b = ""): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

const isDecimal = (text: string): boolean => /^[1-9]\d*$/.test(text);
