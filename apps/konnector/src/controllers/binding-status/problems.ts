/** Counts the problems of bindings, for metrics. No I/O. */
import type { APIServiceBinding } from "@klutch/api";
import type { Sample } from "@klutch/telemetry";

/**
 * Gives one sample for each condition of a binding that reports a problem: False, or True with a severity, as alarms such as `DeletionHeld`
 * are. Those of severity Info only inform, and `Ready` only sums up the others.
 */
export function* problemsOf(bindings: Iterable<APIServiceBinding>): Iterable<Sample<"condition" | "reason">> {
  for (const { status } of bindings) {
    for (const { type, status: value, severity, reason = "" } of status?.conditions ?? []) {
      const isProblem = value === "False" || (value === "True" && severity !== undefined && severity !== "");
      if (type !== "Ready" && isProblem && severity !== "Info")
        yield { labels: { condition: type, reason }, value: 1 };
    }
  }
}
