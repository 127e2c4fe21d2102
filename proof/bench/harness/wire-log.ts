/** Logs the times of the requests of this process to one server at the wire, and computes the published figures from them. */
import { subscribe } from "node:diagnostics_channel";
import { textAt } from "@klutch/kube-core";

/**
 * Starts a log on the channel of undici, through which the client sends. Gives back what returns the times since its last call, in
 * milliseconds since the epoch, with fractions: logs of several processes of one machine can be joined.
 */
export function startWireLog(server: string): () => readonly number[] {
  let times: number[] = [];
  const { origin } = new URL(server);
  subscribe("undici:client:sendHeaders", (message) => {
    if (textAt(message, "request", "origin") === origin) times.push(wallClock());
  });
  return () => {
    const taken = times;
    times = [];
    return taken;
  };
}

/** Milliseconds since the epoch, with fractions. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/** Requests over time. */
export interface Rate {
  readonly total: number;
  /** The most in one second. */
  readonly mostInSecond: number;
  readonly mostInTenth: number;
}

/** Counts the times between `from` and `from + seconds`. */
export function rateOf(times: readonly number[], from: number, seconds: number): Rate {
  const within = times.filter((at) => at >= from && at < from + seconds * 1000);
  const mostIn = (widthMs: number): number => {
    const slots = Map.groupBy(within, (at) => Math.floor((at - from) / widthMs));
    return Math.max(0, ...slots.values().map((all) => all.length));
  };
  return { total: within.length, mostInSecond: mostIn(1000), mostInTenth: mostIn(100) };
}
