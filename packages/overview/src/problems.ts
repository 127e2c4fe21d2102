/** Picks problems from conditions, and puts them into words. */
import { plainText } from "@klutch/api";
import { isProblem, type NewCondition } from "@klutch/kube-core";

/** Returns the conditions that report a problem, but the one that a backend in Go says of each ClusterBinding that is well. */
export function problemsOf(conditions: readonly NewCondition[]): readonly NewCondition[] {
  return conditions.filter((one) => isProblem(one) && one.reason !== "HeartbeatTimeDrift");
}

/** Returns one line about a problem. */
export function problemText({ type, reason = "", message = "" }: NewCondition): string {
  const words = [type, reason].filter((part) => part !== "").join(" ");
  return plainText(message === "" ? words : `${words}: ${message}`, 400);
}
