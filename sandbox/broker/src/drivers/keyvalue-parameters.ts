/** Instance parameters of the key-value store. What only replicas have is not among them: there are none here. */
import { type ParameterChecks, type Parameters, refuseParameter } from "./parameters.ts";

const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
};
const policies = [
  "volatile-lru",
  "allkeys-lru",
  "volatile-lfu",
  "allkeys-lfu",
  "volatile-random",
  "allkeys-random",
  "volatile-ttl",
  "noeviction",
];
const most = 2_147_483_647;

const yesNo = oneOf(["yes", "no"]);
const count = wholeNumber(0);

/** By name; each throws `BrokerError` 400. */
export const keyvalueParameters: ParameterChecks = {
  snapshot(field, value) {
    const list: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
    if (list === undefined) throw refuseParameter(field, value, "a list such as ['save 900 1']");
    return list.map((rule, index) => {
      if (typeof rule === "string" && /^save [1-9]\d{0,8} [1-9]\d{0,8}$/.test(rule)) return rule;
      throw refuseParameter(`${field}[${index}]`, rule, "a rule such as 'save 900 1'");
    });
  },
  maxmemory(field, value) {
    if (value === "dynamic" || (typeof value === "string" && bytesOf(value) !== undefined)) return value;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
    throw refuseParameter(field, value, "dynamic, or a size such as 16mb");
  },
  "maxmemory-policy": oneOf(policies),
  "maxmemory-samples": wholeNumber(1, 64),
  maxclients: count,
  "lazyfree-lazy-eviction": yesNo,
  "lazyfree-lazy-expire": yesNo,
  "lua-time-limit": count,
  "notify-keyspace-events"(field, value) {
    const isFlags =
      typeof value === "string" && /^(?:[KEg$lshzxetdmnA]*[KE][KEg$lshzxetdmnA]*)?$/.test(value);
    if (isFlags) return value;
    throw refuseParameter(field, value, "nothing, or flags with K or E such as Kx");
  },
  "tls-protocols": oneOf(["TLSv1.2", "TLSv1.3", "TLSv1.2 TLSv1.3", "TLSv1.3 TLSv1.2"]),
  "tls-ciphers": cipherList,
  "tls-ciphersuites": cipherList,
};

function oneOf(words: readonly string[]): ParameterChecks[string] {
  return (field, value) => {
    if (typeof value === "string" && words.includes(value)) return value;
    throw refuseParameter(field, value, `one of ${words.join(", ")}`);
  };
}

function wholeNumber(least: number, greatest = most): ParameterChecks[string] {
  return (field, value) => {
    const isGood =
      typeof value === "number" && Number.isInteger(value) && value >= least && value <= greatest;
    if (isGood) return value;
    throw refuseParameter(field, value, `a whole number from ${least} to ${greatest}`);
  };
}

function cipherList(field: string, value: unknown): string {
  if (typeof value === "string" && /^[\w:+!@=-]{1,1000}$/.test(value)) return value;
  throw refuseParameter(field, value, "names of ciphers with : between them");
}

/** A size in bytes; undefined for what is none. */
export function bytesOf(text: string): number | undefined {
  const parts = /^(\d{1,12})(k|kb|m|mb|g|gb)?$/i.exec(text);
  const unit = sizeUnits[(parts?.[2] ?? "").toLowerCase()];
  return parts === null || unit === undefined ? undefined : Number(parts[1]) * unit;
}

/** Memory for data in bytes: the smaller of plan and parameter. */
export function dataBytes(planMiB: number, parameters: Parameters): number {
  const plan = planMiB * 1024 * 1024;
  const wanted = parameters["maxmemory"];
  const bytes = wanted === undefined || wanted === "dynamic" ? 0 : (bytesOf(String(wanted)) ?? 0);
  return bytes === 0 ? plan : Math.min(plan, bytes);
}
