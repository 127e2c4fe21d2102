/** Counts the problems of bindings, for metrics. No I/O. */
import type { APIServiceBinding } from "@klutch/api";
import { isProblem } from "@klutch/kube-core";
import type { Sample } from "@klutch/telemetry";

/** Gives one sample for each condition of a binding that reports a problem. */
export function* problemsOf(bindings: Iterable<APIServiceBinding>): Iterable<Sample<"condition" | "reason">> {
  for (const { status } of bindings)
    for (const condition of (status?.conditions ?? []).filter(isProblem))
      yield { labels: { condition: condition.type, reason: condition.reason ?? "" }, value: 1 };
}
