/**
 * Limits what the accounts of app clusters (`klutch-binder`, in any namespace) may write in the control plane, whatever roles the backend gave
 * them: kinds that operators offer, in the tenant's own namespaces, and nothing on which a controller of the control plane would act.
 */
import { actingKeys } from "../crossing-keys.ts";
import type { Manifest } from "../konnector-manifests.ts";
import {
  binderName,
  bindGroup,
  clusterNamespaceAnnotation,
  offerVerb,
  serviceNamespaceAnnotation,
} from "../names.ts";
import { crossingSecretTypes } from "../secret-types.ts";
import { accountPolicyManifests, entriesOf, listed } from "./policy.ts";

const policyName = "klutch-binder";
/** Parts of a spec in which Crossplane records what it made of a claim. */
const references = ["resourceRef", "resourceRefs", "claimRef"];

/** Tests that the labels or annotations of which `test` finds the `key` are as before. */
const unchanged = (field: string, test: string): string =>
  `(variables.${field}.all(key, !(${test}) || (key in variables.${field}Before && variables.${field}[key] == variables.${field}Before[key])) && variables.${field}Before.all(key, !(${test}) || key in variables.${field}))`;
const isCrossplanes = "key.startsWith('crossplane.io/') || key.contains('.crossplane.io/')";
const isActing = `${listed(actingKeys)}.exists(beginning, key.startsWith(beginning)) || ${isCrossplanes}`;
/** Without its reference a claim gets a second composite, and nothing deletes the first. */
const isSame = (parent: string, before: string, field: string): string =>
  `('${field}' in ${before} ? ('${field}' in ${parent} && ${before}['${field}'] == ${parent}['${field}']) : !('${field}' in ${parent}))`;

/** The policy and its binding. */
export const binderPolicyManifests: readonly Manifest[] = accountPolicyManifests({
  name: policyName,
  account: `request.userInfo.username.startsWith('system:serviceaccount:') && request.userInfo.username.endsWith(':${binderName}')`,
  variables: {
    own: "request.userInfo.username.split(':')[2]",
    isMain: "variables.part == ''",
    isCreation: "request.operation == 'CREATE'",
    isRemoval: "request.operation == 'DELETE'",
    isHome: "variables.place == variables.own",
    isRequest: `variables.isHome && variables.isMain && variables.resource in ['apiserviceexportrequests.${bindGroup}', 'apiservicenamespaces.${bindGroup}']`,
    isReport: `variables.isHome && variables.part == 'status' && variables.resource in ['clusterbindings.${bindGroup}', 'apiserviceexports.${bindGroup}']`,
    // Of konnectors in control-plane mode.
    isKonnectors: `variables.isHome && ((variables.resource == 'apiservicebindings.${bindGroup}' && variables.part in ['', 'status']) || (variables.resource == 'leases.coordination.k8s.io' && variables.isMain) || (variables.resource == 'events' && variables.isMain && !variables.isRemoval))`,
    isServiceNamespace: `namespaceObject != null && has(namespaceObject.metadata.annotations) && '${serviceNamespaceAnnotation}' in namespaceObject.metadata.annotations && namespaceObject.metadata.annotations['${serviceNamespaceAnnotation}'].startsWith(variables.own + '/')`,
    isPayload:
      "variables.isMain && request.resource.group == '' && request.resource.resource in ['secrets', 'configmaps', 'services', 'persistentvolumeclaims']",
    isObject: `variables.isMain && request.resource.group.contains('.') && !request.resource.group.endsWith('.k8s.io') && !request.resource.group.endsWith('.kubernetes.io') && request.resource.group != '${bindGroup}'`,
    isShared: "variables.isPayload || variables.isObject",
    isOffered: `authorizer.serviceAccount('klutch-backend', 'klutch-backend').group(request.resource.group).resource(request.resource.resource).check('${offerVerb}').allowed()`,
    labels: entriesOf("object", "labels"),
    annotations: entriesOf("object", "annotations"),
    labelsBefore: `variables.isCreation ? {} : ${entriesOf("oldObject", "labels")}`,
    annotationsBefore: `variables.isCreation ? {} : ${entriesOf("oldObject", "annotations")}`,
    spec: "has(object.spec) && type(object.spec) == map ? object.spec : {}",
    specBefore:
      "!variables.isCreation && has(oldObject.spec) && type(oldObject.spec) == map ? oldObject.spec : {}",
    machinery:
      "'crossplane' in variables.spec && type(variables.spec.crossplane) == map ? variables.spec.crossplane : {}",
    machineryBefore:
      "'crossplane' in variables.specBefore && type(variables.specBefore.crossplane) == map ? variables.specBefore.crossplane : {}",
    isTyped: "variables.resource == 'secrets' && variables.isMain && !variables.isRemoval",
  },
  rules: [
    {
      expression: "variables.isRequest || variables.isReport || variables.isKonnectors || variables.isShared",
      message: "an app cluster may write only kinds that it bound and its own objects of Klutch",
    },
    {
      expression: `!variables.isShared || variables.isOffered`,
      message:
        "an app cluster may write only kinds that the control plane offers (docs/offer-an-api.md): no rule with the verb offer names this one",
    },
    {
      expression: `!variables.isShared || variables.isServiceNamespace || (variables.isObject && (variables.isHome || variables.place == ''))`,
      message: "an app cluster may write only in its own namespaces",
    },
    {
      expression: `!variables.isObject || variables.place != '' || [variables.isRemoval ? {} : variables.annotations, variables.annotationsBefore].all(entries, !('${clusterNamespaceAnnotation}' in entries) || entries['${clusterNamespaceAnnotation}'] == variables.own)`,
      message: "an app cluster may write no object of another one",
    },
    {
      expression: `!variables.isTyped || object.type in ${listed(crossingSecretTypes)} || !(object.type.contains('kubernetes.io/') || object.type.contains('k8s.io/') || object.type.startsWith('helm.sh/'))`,
      message: "an app cluster may not write Secrets of this type",
    },
    {
      expression: `!variables.isPayload || variables.isRemoval || (${unchanged("labels", isActing)} && ${unchanged("annotations", isActing)} && (!('owner' in variables.labels) || variables.labels['owner'] != 'helm'))`,
      message:
        "an app cluster may not set labels and annotations on which tools of the control plane would act",
    },
    {
      expression: `!variables.isObject || variables.isRemoval || (${unchanged("labels", isCrossplanes)} && ${unchanged("annotations", isCrossplanes)})`,
      message: "an app cluster may not set or remove labels and annotations of Crossplane",
    },
    {
      expression: `!variables.isObject || variables.isRemoval || (${references.map((field) => `${isSame("variables.spec", "variables.specBefore", field)} && ${isSame("variables.machinery", "variables.machineryBefore", field)}`).join(" && ")})`,
      message: "an app cluster may not set or remove what Crossplane records in a claim",
    },
    {
      expression:
        "!variables.isShared || request.operation != 'UPDATE' || (has(oldObject.metadata.finalizers) ? oldObject.metadata.finalizers : []).all(name, has(object.metadata.finalizers) && name in object.metadata.finalizers)",
      message:
        "an app cluster may not remove finalizers, because controllers would leave behind what they made",
    },
  ],
});
