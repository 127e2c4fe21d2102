/** Messages between the benchmark and the processes with its app clusters. */
import type { AppClusterOptions, Turn } from "./app-cluster.ts";
import type { WireEntry } from "./wire-log.ts";

/** A message to a process. */
export type Order =
  | { readonly start: readonly AppClusterOptions[]; readonly server: string }
  | { readonly edit: number }
  | { readonly report: true };

/** A message from a process: its figures since the last report, empty unless a report was asked for; or the reason of a failure. */
export type Answer = { readonly seen: Seen } | { readonly failed: string };

/** The figures of one process. */
export interface Seen {
  readonly wire: readonly WireEntry[];
  /** Turns by app cluster. */
  readonly turns: Readonly<Record<string, readonly Turn[]>>;
  readonly restarts: number;
}

/** Returns the message of one of our own processes: both ends are this program. */
export function decode<T extends Order | Answer>(message: unknown): T {
  return message as T;
}
