/**
 * Holds what the backend hands out against a list that only operators write: rules with the verb `offer` in the aggregated ClusterRole
 * `klutch-backend-claims` (designs/0018). Policies cannot read APIServiceExportTemplates one by one: each parameter is checked alone, and all must
 * agree.
 */
import type { PolicyRule } from "@klutch/kube-core";
import type { Manifest } from "../konnector-manifests.ts";
import { backendClaimsRoleName, bindGroup, deployVerb, offerVerb } from "../names.ts";
import { afterRepositoryPattern } from "./konnector-container.ts";
import { accountPolicyManifests } from "./policy.ts";

/** Name of the policy and its binding. */
const offerPolicyName = "klutch-backend-offers";
const account = { namespace: "klutch-backend", name: "klutch-backend" };

/** A repository or its beginning out of an entry, which may be an image: without tag and digest. A host keeps its port. */
const repository = (entry: string): string => {
  const name = `${entry}.split('@')[0]`;
  const hasTag = `${name}.lastIndexOf(':') > ${name}.lastIndexOf('/') && !${entry}.matches('^([^/]*[.][^/]*|localhost):[0-9]+$')`;
  return `(${hasTag} ? ${name}.substring(0, ${name}.lastIndexOf(':')) : ${name})`;
};

/** True if an image is in the repository `prefix` or below it, and on no other port of a prefix that is only a host. */
const isWithin = (image: string, prefix: string): string =>
  `${image}.startsWith(${prefix}) && (${prefix}.endsWith('/') || ${image}.substring(size(${prefix})).matches('${afterRepositoryPattern}'))`;

/** The policy and its binding. */
export const offerPolicyManifests: readonly Manifest[] = accountPolicyManifests({
  name: offerPolicyName,
  account,
  params: backendClaimsRoleName,
  resources: { "rbac.authorization.k8s.io": ["clusterroles"], apps: ["deployments"] },
  variables: {
    isWritten: "request.operation in ['CREATE', 'UPDATE']",
    listed: "has(params.rules) && params.rules != null ? params.rules : []",
    offers: `variables.listed.filter(rule, '${offerVerb}' in rule.verbs && has(rule.apiGroups) && has(rule.resources))`,
    images: `variables.listed.filter(rule, '${deployVerb}' in rule.verbs && has(rule.apiGroups) && rule.apiGroups == ['${bindGroup}'] && has(rule.resourceNames))`,
    rules:
      "variables.resource.startsWith('clusterroles.') && has(object.rules) && object.rules != null ? object.rules : []",
    containers: "variables.resource == 'deployments.apps' ? object.spec.template.spec.containers : []",
  },
  rules: [
    {
      expression:
        "!variables.isWritten || variables.rules.all(rule, rule.apiGroups.all(name, rule.resources.all(resource, (name == '' && resource == 'events') || variables.offers.exists(offer, name in offer.apiGroups && resource in offer.resources))))",
      message: `the backend may hand out rights only on kinds that a rule with the verb ${offerVerb} in the ClusterRole ${backendClaimsRoleName} names (docs/offer-an-api.md)`,
    },
    {
      expression: `!variables.isWritten || variables.containers.all(container, variables.images.exists(rule, rule.resourceNames.exists(entry, [${repository("entry")}].exists(prefix, ${isWithin("container.image", "prefix")}))))`,
      message: `the backend may deploy only images that a rule with the verb ${deployVerb} in the ClusterRole ${backendClaimsRoleName} names`,
    },
  ],
});

/** Says that the list exists: without the ClusterRole the backend may hand out nothing. */
const presence: PolicyRule = { apiGroups: [bindGroup], resources: ["apiserviceexports"], verbs: [offerVerb] };

/** The part of an APIServiceExportTemplate that says what it offers. */
export interface OfferingTemplate {
  readonly spec: {
    readonly APIServiceSelector: { readonly group?: string | undefined; readonly resource: string };
    readonly permissionClaims?:
      | readonly { readonly group?: string | undefined; readonly resource: string }[]
      | undefined;
  };
}

/** Returns the rules that offer the kinds of these templates and of their permission claims. */
export function offerRules(templates: readonly OfferingTemplate[]): readonly PolicyRule[] {
  const resources = new Map<string, Set<string>>();
  for (const { spec } of templates) {
    const { group = "", resource } = spec.APIServiceSelector;
    for (const one of [{ group, resource }, ...(spec.permissionClaims ?? [])]) {
      const found = resources.get(one.group ?? "") ?? new Set();
      resources.set(one.group ?? "", found.add(one.resource));
    }
  }
  return [...resources.entries()]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([group, names]) => ({ apiGroups: [group], resources: [...names].toSorted(), verbs: [offerVerb] }));
}

/** Returns the rules of every control plane: the kinds of the shipped templates may be handed out. */
export function shippedOffers(templates: readonly OfferingTemplate[]): readonly PolicyRule[] {
  return [presence, ...offerRules(templates)];
}

/** Returns the rule that lets konnectors of this image, or of its repository with another tag, run in control-plane mode. */
export function deployRule(image: string): PolicyRule {
  return {
    apiGroups: [bindGroup],
    resources: ["konnectors"],
    resourceNames: [image],
    verbs: [deployVerb],
  };
}
