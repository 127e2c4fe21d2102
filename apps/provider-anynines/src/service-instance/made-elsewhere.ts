/**
 * Says that an instance which its broker does not know was made by another one. A composition function of a release before regions points each
 * instance to the broker of its type, and a deletion there would end with a database that is left behind.
 */
import { type ServiceInstance, type UsedPlan, usedPlanOf } from "@klutch/api";
import { brokerText } from "../operations/answers.ts";
import { kubectlTarget, shownConfig } from "../provider-config/reference.ts";

/** Returns the words, or undefined if no record names another ProviderConfig than the spec. */
export function madeElsewhere(managed: ServiceInstance, recorded: UsedPlan | undefined): string | undefined {
  const { config } = usedPlanOf(managed);
  if (recorded === undefined || recorded.config === "" || recorded.config === config) return undefined;
  const release =
    managed.metadata.namespace === undefined
      ? "spec.deletionPolicy to Orphan"
      : "spec.managementPolicies without Delete";
  return brokerText(
    `the broker of ${shownConfig(managed)} does not know the instance, which was made by that of ${recorded.config}; nothing is ` +
      `deleted. Set spec.providerConfigRef.name of ${kubectlTarget(managed)} to ${recorded.config}, or ${release} if it is gone there`,
  );
}
