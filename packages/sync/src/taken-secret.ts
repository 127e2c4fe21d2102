/**
 * The Secret that a claim's provider names, when the app cluster has another one of that name, or the Secret does not cross. The claim is not ready then, whatever its
 * provider says. A claim is found by its own status and its own namespace, so a provider can say this of its own claim only.
 */
import { type DynamicObject, isDnsSubdomain, recordsAt, textAt } from "@klutch/kube-core";
import { type LocalReadyCase, localNotReady } from "./local-ready.ts";
import { asConditions, conditionOf } from "./status-conditions.ts";
import type { WithStatus } from "./status-evidence.ts";
import type { StatusView } from "./status-view.ts";

const secretReasons = ["NameTaken", "SecretTypeRefused", "TooManyObjects"] as const;

/** Reason of `Ready`, and of the event. */
export type SecretReason = (typeof secretReasons)[number];

/** The Secret that the app cluster lacks, and why. */
export interface MissingSecret {
  readonly name: string;
  readonly reason: SecretReason;
}

/** Returns the name of the Secret with the credentials, which lies in the claim's namespace; undefined if the object names none. */
export function credentialsSecretOf(
  object: Pick<DynamicObject, "spec" | "status">,
  { secretNameField = "status.managed.credentials.name" }: Pick<StatusView, "secretNameField">,
): string | undefined {
  const name = textAt(object, ...secretNameField.split("."));
  return name !== undefined && isDnsSubdomain(name) ? name : undefined;
}

/** Says it to the author of the claim. */
export function missingSecretWords({ name, reason }: MissingSecret): string {
  switch (reason) {
    case "NameTaken":
      return `Secret ${name} exists and is not Klutch's, so the credentials are not in it. Rename or delete it.`;
    case "SecretTypeRefused":
      return `Secret ${name} with the credentials is not copied to this cluster, because of its type. Ask the platform team.`;
    case "TooManyObjects":
      return `Secret ${name} with the credentials is not copied, because this namespace has as many copies as it may. Delete claims that no one needs, or ask the operator of this cluster.`;
    default:
      return reason satisfies never;
  }
}

/** Returns why the claim's status says that it has no credentials; undefined if it does not say so. */
export function saidSecretReason({ status }: Pick<WithStatus, "status">): SecretReason | undefined {
  const ready = conditionOf(asConditions(status), "Ready");
  return ready?.status === "False" ? secretReasons.find((reason) => reason === ready["reason"]) : undefined;
}

/** The status with `Ready` False if it is True. As it is where the schema has no such condition. */
export function withMissingSecret(status: unknown, secret: MissingSecret, about: LocalReadyCase): unknown {
  if (!about.view.mayBeUnknown || typeof status !== "object" || status === null) return status;
  const conditions = recordsAt(status, "conditions");
  const isReady = ({ type, status }: Readonly<Record<string, unknown>>): boolean =>
    type === "Ready" && status === "True";
  if (!conditions.some(isReady)) return status;
  const said = localNotReady(about, { reason: secret.reason, message: missingSecretWords(secret) });
  return { ...status, conditions: conditions.map((one) => (isReady(one) ? { ...one, ...said } : one)) };
}
