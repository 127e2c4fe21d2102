/** Spans of a process, where traces are on. */
import type { CounterDeclaration, ProcessName } from "../declaration.ts";

const traced: readonly ProcessName[] = ["konnector", "backend", "provider-anynines", "function-klutch"];

export const spansSent: CounterDeclaration = {
  name: "klutch_trace_spans_sent_total",
  type: "counter",
  help: "Spans that the receiver of traces took",
  notes: "Exists where traces are on.",
  labels: [],
  processes: traced,
};

export const spansDropped: CounterDeclaration<"reason"> = {
  name: "klutch_trace_spans_dropped_total",
  type: "counter",
  help: "Spans that were lost",
  notes:
    "Exists where traces are on. `reason` is `queue_full` while the receiver is slower than the process, or `not_sent` if it was away or refused them. Nothing else waits for it.",
  labels: ["reason"],
  processes: traced,
};
