/** The list of kinds that the backend may hand out rights on: rules with the verb `offer` that only operators write (designs/0018). */
import { aggregateToBackendLabel, backendClaimsRoleName, offerVerb } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { clusterRoles, type PolicyRule, type Role } from "@klutch/kube-core";

/** Interval at which the list is read again while a kind is missing: few wait, and only for an operator, so it is not watched. */
export const offersPollMs = 15_000;

/** Returns true for a kind on the list. */
export type IsOffered = (group: string, resource: string) => boolean;

/** Reads the list. Undefined in a control plane without it: there no policy holds the backend to it either. */
export async function readOffers(
  client: KubeClient,
  options: { readonly signal: AbortSignal },
): Promise<IsOffered | undefined> {
  const role = await client.find<Role>(clusterRoles, { name: backendClaimsRoleName }, options);
  const offers = (role?.rules ?? []).filter(({ verbs }) => verbs.includes(offerVerb));
  if (offers.length === 0) return undefined;
  return (group, resource) =>
    offers.some(
      ({ apiGroups = [], resources = [] }) => apiGroups.includes(group) && resources.includes(resource),
    );
}

/** Returns the rules on kinds of the list, and those that only show events. */
export function offeredRules(rules: readonly PolicyRule[], isOffered: IsOffered): readonly PolicyRule[] {
  return rules.filter(({ apiGroups = [], resources = [] }) =>
    apiGroups.every((group) =>
      resources.every((resource) => (group === "" && resource === "events") || isOffered(group, resource)),
    ),
  );
}

/** Tells how a kind gets onto the list. */
export function notOffered(names: readonly string[]): string {
  return (
    `The backend may give app clusters no rights on ${names.join(", ")}: no ClusterRole with the label ${aggregateToBackendLabel} has a rule with ` +
    `the verb ${offerVerb} for it. Apply the one of docs/offer-an-api.md`
  );
}
