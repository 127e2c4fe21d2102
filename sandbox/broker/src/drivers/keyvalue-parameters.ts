/** Instance parameters of the key-value store, without those that only replicas have. */
import * as check from "./parameters.ts";

const sizeUnits: Record<string, number> = { k: 1e3, kb: 2 ** 10, m: 1e6, mb: 2 ** 20, g: 1e9, gb: 2 ** 30 };
const most = 2_147_483_647;
const yesNo = check.oneOf("yes", "no");
const count = check.wholeNumber(0, most);
const ciphers = check.textLike(/^[\w:+!@=-]{1,1000}$/, "names of ciphers with : between them");
const size = check.textLike(/^(?:dynamic|\d{1,12}(?:[kmg]b?)?)$/i, "dynamic, or a size such as 16mb");
const bytes: check.Check = (field, value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : size(field, value);

export const keyvalueParameters: check.ParameterChecks = {
  snapshot: check.listOf(
    check.textLike(/^save [1-9]\d{0,8} [1-9]\d{0,8}$/, "a rule such as 'save 900 1'"),
    100,
    "a list such as ['save 900 1']",
  ),
  maxmemory: bytes,
  "maxmemory-policy": check.oneOf(
    ...["lru", "lfu", "random"].flatMap((by) => [`volatile-${by}`, `allkeys-${by}`]),
    "volatile-ttl",
    "noeviction",
  ),
  "maxmemory-samples": check.wholeNumber(1, 64),
  maxclients: count,
  "lazyfree-lazy-eviction": yesNo,
  "lazyfree-lazy-expire": yesNo,
  "lua-time-limit": count,
  "notify-keyspace-events": check.textLike(
    /^(?:[KEg$lshzxetdmnA]*[KE][KEg$lshzxetdmnA]*)?$/,
    "nothing, or flags with K or E such as Kx",
  ),
  "tls-protocols": check.oneOf("TLSv1.2", "TLSv1.3", "TLSv1.2 TLSv1.3", "TLSv1.3 TLSv1.2"),
  "tls-ciphers": ciphers,
  "tls-ciphersuites": ciphers,
};

/** Returns the bytes of memory for data: the smaller of plan and parameter. */
export function dataBytes(planMiB: number, { maxmemory = "dynamic" }: check.Parameters): number {
  const [, number = "0", unit = ""] = /^(\d+)([kmg]b?)?$/i.exec(String(maxmemory)) ?? [];
  const plan = planMiB * 1024 * 1024;
  return Math.min(plan, Number(number) * (sizeUnits[unit.toLowerCase()] ?? 1) || plan);
}
