/** The claim whose deletion is held: its provider's object stays, so only the app cluster can say why the claim does not go. */
import { recordAt, recordsAt } from "@klutch/kube-core";
import { type LocalReadyCase, localNotReady } from "./local-ready.ts";
import { asConditions, conditionOf } from "./status-conditions.ts";
import type { WithStatus } from "./status-evidence.ts";
import { shortened } from "./status-view.ts";

/** Reason of `Ready`, and of the event. */
export const deletionHeldReason = "DeletionHeld";

/** Says it to the author of the claim; `why` is the sentence of the binding's condition. */
export function deletionHeldWords(why: string): string {
  return shortened(`its deletion is held, because it looks like an accident: ${why}`);
}

/** Returns true if the claim's status says that its deletion is held. */
export function saysDeletionHeld({ status }: Pick<WithStatus, "status">): boolean {
  const ready = conditionOf(asConditions(status), "Ready");
  return ready?.status === "False" && ready["reason"] === deletionHeldReason;
}

/** The status with `Ready` False. As it is where the schema has no such condition. */
export function withHeldDeletion(status: unknown, why: string, about: LocalReadyCase): unknown {
  if (!about.view.mayBeUnknown || status === undefined) return status;
  const said = localNotReady(about, { reason: deletionHeldReason, message: deletionHeldWords(why) });
  const conditions = recordsAt(status, "conditions");
  const hasReady = conditions.some(({ type }) => type === "Ready");
  const shown = hasReady
    ? conditions.map((one) => (one["type"] === "Ready" ? { ...one, ...said } : one))
    : [...conditions, said];
  return { ...recordAt(status), conditions: shown };
}
