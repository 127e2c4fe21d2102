/** What the benchmark and the processes with its app clusters say to each other, one JSON text a message. */
import { isRecord, listAt, numberAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import type { AppClusterOptions, Turn } from "./app-cluster.ts";
import type { WireEntry } from "./wire-log.ts";

/** To a process. */
export type Order =
  | { readonly start: readonly AppClusterOptions[]; readonly server: string }
  | { readonly edit: number }
  | { readonly report: true };

/** From a process: its app clusters are ready, their claims are edited, or what was seen since the last report. */
export type Answer = { readonly done: true } | { readonly seen: Seen } | { readonly failed: string };

/** What was seen. */
export interface Seen {
  readonly wire: readonly WireEntry[];
  /** By app cluster. */
  readonly turns: Readonly<Record<string, readonly Turn[]>>;
  readonly restarts: number;
}

/** Throws on anything else. */
export function readOrder(message: unknown): Order {
  if (valueAt(message, "report") === true) return { report: true };
  const edit = numberAt(message, "edit");
  if (edit !== undefined) return { edit };
  const start = recordsAt(message, "start").map((one) => ({
    name: textAt(one, "name") ?? "",
    kubeconfig: textAt(one, "kubeconfig") ?? "",
    index: numberAt(one, "index") ?? 0,
    claims: numberAt(one, "claims") ?? 1,
  }));
  return { start, server: textAt(message, "server") ?? "" };
}

/** Throws on anything else. */
export function readAnswer(message: unknown): Answer {
  const failed = textAt(message, "failed");
  if (failed !== undefined) return { failed };
  const seen = valueAt(message, "seen");
  if (!isRecord(seen)) return { done: true };
  const turns = valueAt(seen, "turns");
  const timed = (one: unknown): number => numberAt(one, "at") ?? 0;
  return {
    seen: {
      wire: listAt(seen, "wire").map((one) => ({ at: timed(one), kind: textAt(one, "kind") ?? "" })),
      turns: Object.fromEntries(
        Object.keys(isRecord(turns) ? turns : {}).map((name) => [
          name,
          listAt(turns, name).map((one) => ({ at: timed(one), isReady: valueAt(one, "isReady") === true })),
        ]),
      ),
      restarts: numberAt(seen, "restarts") ?? 0,
    },
  };
}
