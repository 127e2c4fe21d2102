/** Faults between a client and the model, chosen by a source that the model asks, usually from a seed. */
import type { KubeClient, Random } from "@klutch/kube";
import type { ObjectRef, ResourceType } from "@klutch/kube-core";

/** The verb of a request; the other methods are made of these. */
export type Verb = Exclude<keyof KubeClient, "clusterName" | "find" | "listAll" | typeof Symbol.asyncDispose>;

/** A request that is about to be sent. */
export interface RequestInfo {
  /** The client's `clusterName`. */
  readonly cluster: string;
  readonly verb: Verb;
  /** Absent for a raw request. */
  readonly type?: ResourceType | undefined;
  readonly ref?: ObjectRef | undefined;
}

/** An event that is about to be put on a watch connection. */
export interface WatchEventInfo {
  readonly cluster: string;
  readonly type: ResourceType;
  readonly event: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
}

/** A fault of a request. */
export type Fault =
  | {
      readonly kind: "error";
      readonly status: 403 | 409 | 410 | 429 | 500 | 503;
      readonly retryAfterMs?: number | undefined;
    }
  /** It takes effect, but its answer is lost. */
  | { readonly kind: "lost-answer" }
  /** It never arrives; the connection is reset. */
  | { readonly kind: "lost-request" }
  /** It never arrives, and nothing comes back until the client gives up. */
  | { readonly kind: "partition" };

/** Decides the delivery of a watch event. `stall`: from it on the connection is silent for ever, but open. */
export type Delivery = "deliver" | { readonly delayMs: number } | "drop-connection" | "duplicate" | "stall";

/** Decides about faults. The model asks at the moment of sending. */
export interface FaultSource {
  onRequest(info: RequestInfo): Fault | undefined;
  onWatchEvent(info: WatchEventInfo): Delivery;
  /** One way. */
  latencyMs(): number;
  /** While true, nothing gets through in either direction. Default never. */
  isPartitioned?(cluster: string): boolean;
}

/** The rate of each fault: a share between 0 and 1 of the requests or events. Default 0. */
export interface FaultRates {
  /** 429, 500 or 503; for writes also 409, for lists and watches also 410. */
  readonly error?: number | undefined;
  readonly lostAnswer?: number | undefined;
  readonly lostRequest?: number | undefined;
  readonly partition?: number | undefined;
  readonly watchDelay?: number | undefined;
  readonly watchDrop?: number | undefined;
  readonly watchDuplicate?: number | undefined;
  readonly watchStall?: number | undefined;
  /** The latency is between half of this and one and a half. Default 5. */
  readonly latencyMs?: number | undefined;
  /** The longest delay of a watch event. Default 2000. */
  readonly maxWatchDelayMs?: number | undefined;
}

/** Faults from a seed. */
export interface SeededFaults extends FaultSource {
  /** No more faults, and partitions heal; latency stays. */
  stop(): void;
  /** Cuts a cluster off, or heals it. */
  partition(cluster: string, isOn: boolean): void;
  isPartitioned(cluster: string): boolean;
}

/** A small generator (mulberry32): the same seed gives the same numbers. Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const reads: ReadonlySet<Verb> = new Set<Verb>(["get", "list", "watch", "request"]);

/** Faults at these rates. Every question takes the same count of random numbers, so that one rate does not shift the others. */
export function seededFaults(seed: number, rates: FaultRates): SeededFaults {
  const random = seededRandom(seed);
  const partitioned = new Set<string>();
  const { latencyMs = 5, maxWatchDelayMs = 2_000 } = rates;
  let isStopped = false;
  const isHit = (rate: number | undefined): boolean => random() < (rate ?? 0) && !isStopped;
  return {
    onRequest({ verb, cluster }) {
      const hits = [rates.error, rates.lostAnswer, rates.lostRequest, rates.partition].map(isHit);
      const fault = errorOf(verb, random(), random());
      if (partitioned.has(cluster)) return { kind: "partition" };
      if (hits[0] === true) return fault;
      if (hits[1] === true) return { kind: "lost-answer" };
      if (hits[2] === true) return { kind: "lost-request" };
      return hits[3] === true ? { kind: "partition" } : undefined;
    },
    onWatchEvent() {
      const hits = [rates.watchDrop, rates.watchStall, rates.watchDelay, rates.watchDuplicate].map(isHit);
      const delayMs = random() * maxWatchDelayMs;
      if (hits[0] === true) return "drop-connection";
      if (hits[1] === true) return "stall";
      if (hits[2] === true) return { delayMs };
      return hits[3] === true ? "duplicate" : "deliver";
    },
    latencyMs: () => latencyMs * (0.5 + random()),
    isPartitioned: (cluster) => partitioned.has(cluster),
    stop() {
      isStopped = true;
      partitioned.clear();
    },
    partition(cluster, isOn) {
      if (isOn) partitioned.add(cluster);
      else partitioned.delete(cluster);
    },
  };
}

function errorOf(verb: Verb, choice: number, wait: number): Fault {
  const statuses = [429, 500, 503] as const;
  const all = [
    ...statuses,
    ...(reads.has(verb) ? [] : [409 as const]),
    ...(verb === "list" || verb === "watch" ? [410 as const] : []),
  ];
  const status = all[Math.floor(choice * all.length)] ?? 500;
  return { kind: "error", status, retryAfterMs: status === 429 ? 1_000 * Math.ceil(wait * 3) : undefined };
}
