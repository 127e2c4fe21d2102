/**
 * Problems of a deletion, as events on the claim: Crossplane asks no function for a composite that is being deleted, so no condition can
 * tell them. While nothing is deleted, the conditions do.
 */
import { claimKindAnnotation, claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { Managed, Problem } from "@klutch/crossplane";
import type { DynamicObject } from "@klutch/kube-core";
import type { EventRecorder } from "@klutch/kube-runtime";

/** `<apiVersion>/<kind>`. */
const kindPattern = /^(?<apiVersion>[a-z0-9.-]{1,253}\/v[a-z0-9]{1,62})\/(?<kind>[A-Z][A-Za-z0-9]{0,62})$/;

/** The claim that a managed resource was made for, as far as an event needs it; undefined when it is not known. */
export function claimOfManaged({ metadata }: Managed): DynamicObject | undefined {
  const { annotations = {}, labels = {} } = metadata;
  const { apiVersion, kind } = kindPattern.exec(annotations[claimKindAnnotation] ?? "")?.groups ?? {};
  const { [claimNameLabel]: name, [claimNamespaceLabel]: namespace } = labels;
  if (apiVersion === undefined || kind === undefined || name === undefined || namespace === undefined)
    return undefined;
  return { apiVersion, kind, metadata: { namespace, name } };
}

/** For `onProblem` of a managed reconciler. */
export function problemsOnClaims(
  recorder: Pick<EventRecorder, "recordWarning">,
): (managed: Managed, problem: Problem, deleting: boolean) => void {
  return (managed, { reason = "ServiceProblem", message }, deleting) => {
    const claim = deleting ? claimOfManaged(managed) : undefined;
    if (claim !== undefined) recorder.recordWarning(claim, reason, message);
  };
}

/** For what a person should know of a managed resource: a Warning on it. */
export function noticesOnManaged(
  recorder: Pick<EventRecorder, "recordWarning">,
): (managed: Managed, message: string, reason?: string) => void {
  return ({ apiVersion, kind, metadata }, message, reason = "LookAtBackend") => {
    recorder.recordWarning({ apiVersion, kind, metadata }, reason, message);
  };
}
