/**
 * Holds off floods of requests that come without a login: renewals, challenges and confirmations. One caller alone may take most of what
 * this process accepts, but never the part that is kept for the others.
 */
import { isIPv6 } from "node:net";
import type { Clock } from "@klutch/kube";

/** Requests per second that this process accepts; the rest is told to wait by `Retry-After`. */
const perSecond = 50;
/** Requests per second of one address that count as modest. */
const modest = 5;
/** Requests per second that only modest callers may use. */
const reserved = 15;

/** Returns true if a request of this address may go on. Without an address only the limit of the process counts. */
export type Admission = (address: string | undefined) => boolean;

/** Admits a fixed number of requests per second. */
export function createAdmission(clock: Clock): Admission {
  let second = 0;
  let count = 0;
  const byCaller = new Map<string, number>();
  return (address) => {
    const now = Math.floor(clock.monotonic() / 1000);
    if (now !== second) {
      byCaller.clear();
      count = 0;
      second = now;
    }
    if (count >= perSecond) return false;
    if (address !== undefined) {
      const caller = networkOf(address);
      const own = (byCaller.get(caller) ?? 0) + 1;
      if (own > modest && count >= perSecond - reserved) return false;
      byCaller.set(caller, own);
    }
    count++;
    return true;
  };
}

/** Counts the addresses of one IPv6 network of 64 bits as one: its user has all of them. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail = ""] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const groups = plain.includes("::") ? [...left, ...zeros, ...right] : left;
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
