/** Events that tell people in the app cluster which claimed objects do not cross. */
import { crossingSecretTypes } from "@klutch/api";
import { apiVersionOf, type DynamicObject, type ObjectRef } from "@klutch/kube-core";
import type { ClaimedPlan } from "@klutch/sync";
import type { EventRecorder } from "@klutch/kube-runtime";
import type { KonnectorMetrics } from "../../counters.ts";
import type { ClaimedType } from "./claimed-type.ts";

/** Recorders for the events of one claimed resource. */
export interface ClaimedEvents {
  readonly type: ClaimedType;
  readonly recorder: EventRecorder;
  readonly refusals: KonnectorMetrics["refusals"];
}

/** Says why nothing is written, where the reason is one that somebody can change. */
export async function recordRefusal(
  { type, recorder, refusals }: ClaimedEvents,
  pair: { readonly consumer: DynamicObject | undefined; readonly consumerRef: ObjectRef },
  { conflict, refusedType }: ClaimedPlan,
): Promise<void> {
  if (conflict === true && pair.consumer !== undefined) {
    await recorder.record(
      pair.consumer,
      "Warning",
      "NameTaken",
      "the provider has an object of this name for you, but this one is your own, so it was left alone. To get the provider's, rename or delete yours.",
    );
  }
  if (refusedType === undefined) return;
  refusals.labels({ resource: type.plural, reason: "SecretTypeRefused" }).inc();
  recorder.recordWarning(
    pair.consumer ?? wouldBe(type, pair.consumerRef),
    "SecretTypeRefused",
    `Secret ${pair.consumerRef.name} is not copied, because its type is ${refusedType}. Types that are copied: ${crossingSecretTypes.join(", ")}, servicebinding.io/*. Another type needs a permission claim with the field selector type=<type>`,
  );
}

/** Says that a namespace holds as many copies as it may. The same text for all that stay away, so that it is written once. */
export function recordTooMany(
  { type, recorder, refusals }: ClaimedEvents,
  ref: ObjectRef,
  limit: number,
): void {
  refusals.labels({ resource: type.plural, reason: "TooManyObjects" }).inc();
  const where = ref.namespace === undefined ? "" : ` into namespace ${ref.namespace}`;
  recorder.recordWarning(
    wouldBe(type, ref),
    "TooManyObjects",
    `at most ${limit} of the provider's ${type.plural} are copied${where}; the others stay at the provider. Ask the provider to remove some, or raise the konnector's --provider-objects-limit`,
  );
}

/** Returns a stub of a missing object, for an event that is seen where the object would be. */
function wouldBe(type: ClaimedType, { namespace, name }: ObjectRef): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { namespace, name } };
}
