/** Messages between the benchmark and the processes with its app clusters. */
import type { AppClusterOptions, Turn } from "./app-cluster.ts";
import type { WireEntry } from "./wire-log.ts";

/** To a process. */
export type Order =
  | { readonly start: readonly AppClusterOptions[]; readonly server: string }
  | { readonly edit: number }
  | { readonly report: true };

/** From a process: what was seen since the last report, nothing unless that was asked for; or why it could not. */
export type Answer = { readonly seen: Seen } | { readonly failed: string };

/** What was seen. */
export interface Seen {
  readonly wire: readonly WireEntry[];
  /** By app cluster. */
  readonly turns: Readonly<Record<string, readonly Turn[]>>;
  readonly restarts: number;
}

/** Returns what one of our own processes sent: both ends are this program. */
export function decode<T extends Order | Answer>(message: unknown): T {
  return message as T;
}
