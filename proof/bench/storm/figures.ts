/** Computes the published figures from the wire log. */
import type { WireEntry } from "./wire-log.ts";

/** Requests over time. */
export interface Rate {
  readonly total: number;
  /** The most in one second. */
  readonly mostInSecond: number;
  readonly mostInTenth: number;
  /** The number in each second from the beginning on. */
  readonly perSecond: readonly number[];
}

/** Counts the entries between `from` and `from + seconds`. */
export function rateOf(entries: readonly WireEntry[], from: number, seconds: number): Rate {
  const within = entries.filter(({ at }) => at >= from && at < from + seconds * 1000);
  const counts = (widthMs: number): number[] => {
    const all = Array.from({ length: Math.ceil((seconds * 1000) / widthMs) }, () => 0);
    for (const { at } of within) {
      const index = Math.floor((at - from) / widthMs);
      all[index] = (all[index] ?? 0) + 1;
    }
    return all;
  };
  const perSecond = counts(1000);
  return {
    total: within.length,
    perSecond,
    mostInSecond: Math.max(...perSecond),
    mostInTenth: Math.max(...counts(100)),
  };
}

/** `12 watch, 3 list`: how many of each kind, the most frequent first. */
export function describeKinds(entries: readonly WireEntry[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of entries) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([kind, count]) => `${count} ${kind}`).join(", ");
}

/** Tells whether the entry is a request that reached a server. */
export function isRequest({ kind }: WireEntry): boolean {
  return kind === "watch" || kind === "list" || kind === "other";
}
