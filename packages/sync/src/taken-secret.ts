/**
 * The Secret that a claim's provider names, when the app cluster has another one of that name. The claim is not ready then, whatever its
 * provider says. A claim is found by its own status and its own namespace, so a provider can say this of its own claim only.
 */
import { isDnsSubdomain, recordsAt, textAt, wholeSeconds } from "@klutch/kube-core";
import { type AnyCondition, asConditions, conditionOf } from "./status-conditions.ts";
import type { WithStatus } from "./status-evidence.ts";
import { type StatusView, takenFields } from "./status-view.ts";

/** Reason of `Ready`, and of the event. */
export const nameTakenReason = "NameTaken";

/** Returns the name of the Secret with the credentials, which lies in the claim's namespace; undefined if the status names none. */
export function credentialsSecretOf({ status }: Pick<WithStatus, "status">): string | undefined {
  const name = textAt(status, "managed", "credentials", "name");
  return name !== undefined && isDnsSubdomain(name) ? name : undefined;
}

/** Says it to the author of the claim. */
export function nameTakenWords(secret: string): string {
  return `Secret ${secret} exists and is not Klutch's, so the credentials are not in it. Rename or delete it.`;
}

/** Returns true if the claim's status says that its Secret's name is taken. */
export function saysNameTaken({ status }: Pick<WithStatus, "status">): boolean {
  const ready = conditionOf(asConditions(status), "Ready");
  return ready?.status === "False" && ready["reason"] === nameTakenReason;
}

/** The status with `Ready` False if it is True. As it is where the schema has no such condition. */
export function withTakenSecret(
  status: unknown,
  secret: string,
  { view, claim, now }: { readonly view: StatusView; readonly claim: WithStatus; readonly now: number },
): unknown {
  if (!view.mayBeUnknown || typeof status !== "object" || status === null) return status;
  const conditions = recordsAt(status, "conditions");
  const isReady = ({ type, status }: Readonly<Record<string, unknown>>): boolean =>
    type === "Ready" && status === "True";
  if (!conditions.some(isReady)) return status;
  const words = takenWords(secret, view, claim, now);
  return {
    ...status,
    conditions: conditions.map((one) => (isReady(one) ? { ...one, ...words } : one)),
  };
}

function takenWords(
  secret: string,
  { conditions = [] }: StatusView,
  { status }: WithStatus,
  now: number,
): Readonly<Record<string, unknown>> {
  const standing: AnyCondition | undefined = conditionOf(asConditions(status), "Ready");
  const since = standing?.status === "False" ? standing["lastTransitionTime"] : undefined;
  const words = {
    reason: nameTakenReason,
    message: nameTakenWords(secret),
    lastTransitionTime: typeof since === "string" ? since : wholeSeconds(now),
  };
  return { status: "False", ...takenFields(conditions, words) };
}
