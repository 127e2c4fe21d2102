/**
 * What unbinding does with one pair. `Orphan`: the claim becomes a plain object and the upstream one stays, without our mark, so that
 * nothing deletes it later and binding again adopts it. `Delete`: the claim is deleted, and with it the upstream one, in the usual order.
 * A deletion that a person had asked for before is finished first in both.
 */
import { boundAnnotation, restoredAnnotation, syncerFinalizer, unbindPolicyAnnotation } from "@klutch/api";
import { type DynamicObject, isDeleting, type ObjectMeta, refOfObject } from "@klutch/kube-core";
import { isBound } from "./content.ts";
import { isForeign, type ObservedPair, type PairPlan, planPair, type Step } from "./object-plan.ts";

/** Policy for claims and upstream objects. With the annotation's third value, `Abandon`, claims are released without a plan. */
export type UnbindPolicy = "Orphan" | "Delete";

/** Returns the policy in the binding's annotation; anything but `Delete` is the default `Orphan`. */
export function unbindPolicyOf(binding: DynamicObject): UnbindPolicy {
  return binding.metadata.annotations?.[unbindPolicyAnnotation] === "Delete" ? "Delete" : "Orphan";
}

/** Decides for one pair of an API that is being unbound. Empty and without `waiting` when the pair is done. */
export function planUnbind(observed: ObservedPair, policy: UnbindPolicy): PairPlan {
  const { consumer, ref } = observed;
  const provider = isForeign(observed) ? undefined : observed.provider;
  if (consumer === undefined) {
    if (provider === undefined || isDeleting(provider) || !isBound(provider)) return { steps: [] };
    if (policy === "Delete") return { steps: [], waiting: "orphanConfirmation" };
    return { steps: [unmarkProvider(provider)] };
  }
  const uid = consumer.metadata.uid ?? "";
  // A held deletion was not confirmed; orphaning then decides against it.
  if (isDeleting(consumer) && !(observed.deletionHeld !== undefined && policy === "Orphan"))
    return planPair(observed);
  if (policy === "Delete")
    return { steps: [{ do: "deleteConsumer", ref, uid }], waiting: "providerDeletion" };
  const steps: Step[] = [];
  if (provider !== undefined && !isDeleting(provider) && isBound(provider))
    steps.push(unmarkProvider(provider));
  if (isMarked(consumer)) steps.push({ do: "unmarkConsumer", ref, uid });
  return { steps };
}

/** Returns true if the claim carries our finalizer or mark. */
export function isMarked({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return (
    metadata.finalizers?.includes(syncerFinalizer) === true ||
    metadata.annotations?.[boundAnnotation] !== undefined
  );
}

/**
 * The merge patch that takes our marks off a claim, so that it lives on as a plain object. It names the version, which keeps a
 * finalizer that somebody else adds meanwhile.
 */
export function unmarkPatch({ uid, resourceVersion, finalizers = [] }: ObjectMeta): {
  readonly metadata: object;
} {
  const others = finalizers.filter((finalizer) => finalizer !== syncerFinalizer);
  const annotations = { [boundAnnotation]: null, [restoredAnnotation]: null };
  return { metadata: { uid, resourceVersion, finalizers: others, annotations } };
}

function unmarkProvider(provider: DynamicObject): Step {
  const patch = { metadata: { uid: provider.metadata.uid, annotations: { [boundAnnotation]: null } } };
  return { do: "patchProvider", ref: refOfObject(provider), patch };
}
