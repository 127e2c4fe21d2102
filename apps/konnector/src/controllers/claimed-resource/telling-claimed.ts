/** What does not cross of claimed objects, in words for the people of the app cluster. */
import { apiVersionOf, type DynamicObject, type ObjectRef } from "@klutch/kube-core";
import { crossingSecretTypes } from "@klutch/api";
import type { ClaimedPlan } from "@klutch/sync";
import type { Environment } from "../../clusters.ts";
import type { EventRecorder } from "../../events.ts";
import type { ClaimedType } from "./claimed-type.ts";

interface Context {
  readonly type: ClaimedType;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

/** Tells why nothing is written, where somebody can do something about it. */
export async function tellClaimed(
  context: Context,
  pair: { readonly consumer: DynamicObject | undefined; readonly consumerRef: ObjectRef },
  { conflict, refusedType }: ClaimedPlan,
): Promise<void> {
  const { events, type } = context;
  if (conflict === true && pair.consumer !== undefined) {
    await events.tell(
      pair.consumer,
      "Warning",
      "NameTaken",
      "the provider has an object of this name for you, but this one is your own, so it was left alone. To get the provider's, rename or delete yours.",
    );
  }
  if (refusedType === undefined) return;
  context.environment.metrics.refusals.inc({ resource: type.plural, reason: "SecretTypeRefused" });
  events.warn(
    pair.consumer ?? wouldBe(type, pair.consumerRef),
    "SecretTypeRefused",
    `Secret ${pair.consumerRef.name} is not copied, because its type is ${refusedType}. Types that are copied: ${crossingSecretTypes.join(", ")}, servicebinding.io/*. Another type needs a permission claim with the field selector type=<type>`,
  );
}

/** Tells that a namespace holds as many copies as it may. The same text for all that stay away, so that it is told once. */
export function tellTooMany({ type, events, environment }: Context, ref: ObjectRef): void {
  const { providerObjectsLimit: limit } = environment.timing;
  environment.metrics.refusals.inc({ resource: type.plural, reason: "TooManyObjects" });
  const where = ref.namespace === undefined ? "" : ` into namespace ${ref.namespace}`;
  events.warn(
    wouldBe(type, ref),
    "TooManyObjects",
    `at most ${limit} of the provider's ${type.plural} are copied${where}; the others stay at the provider. Ask the provider to remove some, or raise the konnector's --provider-objects-limit`,
  );
}

/** What is not there, for an event that is seen where it would be. */
function wouldBe(type: ClaimedType, { namespace, name }: ObjectRef): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { namespace, name } };
}
