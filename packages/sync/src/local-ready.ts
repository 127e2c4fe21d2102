/** The `Ready` False of a claim that only its app cluster can say, whatever the provider says. */
import { wholeSeconds } from "@klutch/kube-core";
import { type AnyCondition, asConditions, conditionOf } from "./status-conditions.ts";
import type { WithStatus } from "./status-evidence.ts";
import { type StatusView, takenFields } from "./status-view.ts";

/** The claim whose status is written. */
export interface LocalReadyCase {
  readonly view: StatusView;
  readonly claim: WithStatus;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
}

/** Returns the condition with these words and the fields that the schema has. It keeps its time while the claim says False already. */
export function localNotReady(
  { view, claim, now }: LocalReadyCase,
  words: Readonly<Record<"reason" | "message", string>>,
): AnyCondition {
  const standing = conditionOf(asConditions(claim.status), "Ready");
  const since = standing?.status === "False" ? standing["lastTransitionTime"] : undefined;
  const lastTransitionTime = typeof since === "string" ? since : wholeSeconds(now);
  const said = takenFields(view.conditions ?? [], { ...words, lastTransitionTime });
  return { type: "Ready", status: "False", ...said };
}
