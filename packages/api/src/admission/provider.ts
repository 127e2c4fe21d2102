/**
 * Limits what the accounts of provider-anynines may write. Crossplane's RBAC manager gives every provider all rights on the Secrets, ConfigMaps,
 * Events and Leases of the control plane (`rulesSystemExtra`); it needs connection Secrets of its own managed resources and one lease.
 */
import type { Manifest } from "../konnector-manifests.ts";
import { dataservicesGroup, namespacedDataservicesGroup } from "../names.ts";
import { accountPolicyManifests, listed } from "./policy.ts";

const policyName = "klutch-provider-anynines";
const groups = [dataservicesGroup, namespacedDataservicesGroup];
const connectionType = "connection.crossplane.io/v1alpha1";

/** Controlled by a managed resource of ours. */
const isControlled = (object: string): string =>
  `(has(${object}.metadata.ownerReferences) && ${object}.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller && ${listed(groups)}.exists(group, owner.apiVersion.startsWith(group + '/'))))`;
const isSame = (field: string): string =>
  `(has(object.metadata.${field}) ? object.metadata.${field} : {}) == (request.operation == 'UPDATE' && has(oldObject.metadata.${field}) ? oldObject.metadata.${field} : {})`;

/** The policy and its binding. Crossplane names the account after the package's revision, in its own namespace. */
export const providerPolicyManifests: readonly Manifest[] = accountPolicyManifests({
  name: policyName,
  account:
    "request.userInfo.username.matches('^system:serviceaccount:[^:]+:([-a-z0-9]+-)?provider-anynines(-[-a-z0-9]+)?$')",
  variables: {
    own: "request.userInfo.username.split(':')[2]",
    isMain: "variables.part == ''",
    isRemoval: "request.operation == 'DELETE'",
    isManaged: `request.resource.group in ${listed(groups)}`,
    isLease:
      "variables.resource == 'leases.coordination.k8s.io' && variables.isMain && variables.place == variables.own && variables.written.metadata.name == 'crossplane-leader-election-provider-anynines'",
    isEvent:
      "variables.resource in ['events', 'events.events.k8s.io'] && variables.isMain && !variables.isRemoval",
    isSecret: "variables.resource == 'secrets' && variables.isMain",
  },
  rules: [
    {
      expression: "variables.isManaged || variables.isLease || variables.isEvent || variables.isSecret",
      message:
        "provider-anynines may write only its managed resources, their connection Secrets, Events and its own lease",
    },
    {
      expression: `!variables.isSecret || (variables.written.type == '${connectionType}' && ${isControlled("variables.written")} && (request.operation != 'UPDATE' || ${isControlled("oldObject")}))`,
      message: `provider-anynines may write only Secrets of the type ${connectionType} that a managed resource of its own controls`,
    },
    {
      expression: "!variables.isSecret || !variables.place.startsWith('kube-')",
      message: "provider-anynines may write no Secrets in namespaces of Kubernetes",
    },
    {
      expression: `!variables.isSecret || variables.isRemoval || (${isSame("labels")} && ${isSame("annotations")})`,
      message:
        "provider-anynines may set no labels and annotations of a Secret, because controllers act on them",
    },
    {
      expression: `!variables.isSecret || request.operation != 'UPDATE' || object.metadata.ownerReferences == oldObject.metadata.ownerReferences`,
      message: "provider-anynines may not change whose a Secret is",
    },
  ],
});
