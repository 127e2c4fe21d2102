/**
 * Records events. Problems of a deletion go on the claim: Crossplane asks no function for a composite that is being deleted, so no condition can
 * tell them. While nothing is deleted, the conditions do.
 */
import { claimKindAnnotation, claimNameLabel, type ProviderConfig } from "@klutch/api";
import type { Managed, Problem } from "@klutch/crossplane";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import type { EventRecorder } from "@klutch/kube-runtime";
import type { MissingInstance } from "../service-binding/bind.ts";
import { claimNamespaceOf } from "./names.ts";

/** An instance that is still at the broker of the ProviderConfig `config`. */
export interface LeftInstance {
  /** As it was last. */
  readonly managed: Managed;
  readonly config: string;
  readonly instanceId: string;
}

const leftReason = "LeftAtBroker";

/** `<apiVersion>/<kind>`. */
const kindPattern = /^(?<apiVersion>[a-z0-9.-]{1,253}\/v[a-z0-9]{1,62})\/(?<kind>[A-Z][A-Za-z0-9]{0,62})$/;

/** The claim that a managed resource was made for, as far as an event needs it; undefined when it is not known. */
export function claimOfManaged(managed: Managed): DynamicObject | undefined {
  const { annotations = {}, labels = {} } = managed.metadata;
  const { apiVersion, kind } = kindPattern.exec(annotations[claimKindAnnotation] ?? "")?.groups ?? {};
  const name = labels[claimNameLabel];
  const namespace = claimNamespaceOf(managed);
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

const missingReason = "InstanceNotFound";
/** An instance that is applied together with its binding comes sooner. */
const missingAfterMs = 30_000;

/**
 * For a binding whose namespace lacks its instance: a Warning on its claim, at once if the name is most probably misspelled. The event names the missing
 * instance as its related object, so that the app cluster, which alone knows its other namespaces, can say where it is.
 */
export function missingOnClaims(
  recorder: Pick<EventRecorder, "recordWarning">,
  clock: Pick<Clock, "now">,
): (binding: Managed, missing: MissingInstance) => void {
  return (binding, { instanceName, message, isMisspelled }) => {
    const claim = claimOfManaged(binding);
    const ageMs = clock.now() - Date.parse(binding.metadata.creationTimestamp ?? "");
    if (claim === undefined || !(isMisspelled || ageMs >= missingAfterMs)) return;
    // By the end of its kind: the binding does not say of which service its instance is.
    recorder.recordWarning(claim, missingReason, message, { kind: "Instance", name: instanceName });
  };
}

/**
 * For an instance whose managed resource vanished: a Warning on its claim, whose database may be replaced by an empty one, and one on the
 * ProviderConfig, for who can do something about it.
 */
export function leftAtBrokers(
  recorder: Pick<EventRecorder, "recordWarning">,
  configOf: (name: string) => ProviderConfig | undefined,
): (left: LeftInstance) => void {
  return ({ managed, config: name, instanceId }) => {
    const what = `its managed resource ${managed.metadata.name ?? ""} vanished without being deleted`;
    const claim = claimOfManaged(managed);
    if (claim !== undefined) {
      const message = `the instance ${instanceId} is left at its broker: ${what}, so a new, empty one may be made; tell the platform team`;
      recorder.recordWarning(claim, leftReason, message);
    }
    const config = configOf(name);
    if (config === undefined) return;
    const message = `the instance ${instanceId} is left at the broker: ${what}; import it by a ServiceInstance, or deprovision it at the broker`;
    recorder.recordWarning(referenceTo(config), leftReason, message);
  };
}

/** For a ProviderConfig that is deleted while something uses it: a Warning on it. */
export function inUseOnConfigs(
  recorder: Pick<EventRecorder, "recordWarning">,
): (config: ProviderConfig, message: string) => void {
  return (config, message) => recorder.recordWarning(referenceTo(config), "InUse", message);
}

/** For a ProviderConfig whose backend turned bad, or is good again: an event on it. */
export function healthOnConfigs(
  recorder: Pick<EventRecorder, "record" | "recordWarning">,
): (config: ProviderConfig, verdict: { readonly healthy: boolean; readonly message: string }) => void {
  return (config, { healthy, message }) => {
    const about = referenceTo(config);
    if (healthy) void recorder.record(about, "Normal", "CheckSuccess", `${config.kind} is now healthy`);
    else recorder.recordWarning(about, "CheckFailure", `Health check failed: ${message}`);
  };
}

/** For what a person should know of a managed resource: a Warning on it. */
export function noticesOnManaged(
  recorder: Pick<EventRecorder, "recordWarning">,
): (managed: Managed, message: string, reason?: string) => void {
  return (managed, message, reason = "LookAtBackend") =>
    recorder.recordWarning(referenceTo(managed), reason, message);
}

/** As far as an event needs it. */
function referenceTo({ apiVersion, kind, metadata }: KubeObject): DynamicObject {
  return { apiVersion, kind, metadata };
}
