/**
 * The second line behind the konnector's roles: what its account may write in an app cluster, whatever RBAC says. The plugin writes it
 * with what people bound and accepted; no account that RBAC confines can change it.
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import { builtInWords } from "../built-in-words.ts";
import { keptKeyPatterns, safeKeyPatterns } from "../crossing-keys.ts";
import type { Manifest } from "../konnector-manifests.ts";
import {
  bindGroup,
  claimedFromLabel,
  consumerNamespace,
  konnectorName,
  providerUidAnnotation,
  providerVersionAnnotation,
  resourceOwnerAnnotation,
  sourceHashAnnotation,
  unbindFinalizer,
  unreachableSinceAnnotation,
} from "../names.ts";
import { clusterKeySecret } from "../cluster-key.ts";
import { renewalUrlAnnotation } from "../renewal.ts";
import { crossingSecretTypes, serviceBindingPrefix } from "../secret-types.ts";
import { type AutoBindScope, isAutoBindable, isModestBinding, isNewBinding } from "./auto-bind.ts";
import type { KonnectorScope } from "./konnector-scope.ts";
import { isModestUpdate, isOwnUpdate, updateScopeText, updateVariables } from "./konnector-updates.ts";
import { accountPolicyManifests, isSystemNamespace } from "./policy.ts";

/** Name of the policy and its binding. */
export const konnectorPolicyName = "klutch-konnector";

const quoted = (texts: readonly string[]): string =>
  `[${[...new Set(texts)]
    .toSorted()
    .map((text) => `'${text}'`)
    .join(", ")}]`;

/** Whatever a claim names: what clusters and tools make for themselves. */
const isOwnSecretType =
  "(variables.written.type == 'kubernetes.io/service-account-token' || variables.written.type.startsWith('bootstrap.kubernetes.io/') || variables.written.type.startsWith('helm.sh/'))";

/** The policy and its binding. Throws a RangeError for names that are no resource names: they become part of an expression. */
export function konnectorPolicyManifests({
  apis,
  claims,
  secretTypes,
  autoBind = { groups: [], except: [] },
  updates,
}: KonnectorScope): readonly Manifest[] {
  for (const type of secretTypes)
    if (!/^[-./\w]+$/.test(type)) throw new RangeError(`${JSON.stringify(type)} is no type of a Secret`);
  for (const name of [...apis, ...autoBind.groups, ...autoBind.except])
    if (!isDnsSubdomain(name)) throw new RangeError(`${JSON.stringify(name)} is no name of a resource`);
  for (const right of claims)
    if (!/^[-./:*\w ]+$/.test(right)) throw new RangeError(`${JSON.stringify(right)} is no right of a claim`);
  return konnectorPolicyOf({
    apis: quoted(apis),
    claims: quoted(claims),
    secretTypes: quoted([...crossingSecretTypes, ...secretTypes]),
    groups: quoted(autoBind.groups),
    except: quoted(autoBind.except),
    updates: updateScopeText(updates),
  });
}

/** A field of an object's metadata, or a value in its place where it is absent. */
const metadataOf = (object: string, field: string, otherwise: "{}" | "[]"): string =>
  `(${object} != null && has(${object}.metadata.${field}) ? ${object}.metadata.${field} : ${otherwise})`;
/** Keys of labels or annotations that the request adds or changes. */
const changedKeys = (field: string): string =>
  `${metadataOf("object", field, "{}")}.filter(key, !(key in ${metadataOf("oldObject", field, "{}")}) || ${metadataOf("oldObject", field, "{}")}[key] != object.metadata.${field}[key])`;
/** Is true if the request removes no label or annotation. */
const keepsKeys = (field: string): string =>
  `${metadataOf("oldObject", field, "{}")}.all(key, key in ${metadataOf("object", field, "{}")})`;
const isSameMetadata = (field: string): string =>
  `${metadataOf("object", field, "[]")} == ${metadataOf("oldObject", field, "[]")}`;
const marked = (object: string, owners: string): string =>
  `${metadataOf(object, "annotations", "{}")}.exists(key, key == '${resourceOwnerAnnotation}' && ${object}.metadata.annotations[key] in ${owners})`;

/** Is true if one of the patterns fits the key, which may then have more between their stars than they say. */
const matches = (patterns: string): string =>
  `${patterns}.exists(pattern, key == pattern || (pattern.contains('*') && key.startsWith(pattern.split('*')[0]) && key.endsWith(pattern.split('*')[pattern.split('*').size() - 1]) && pattern.split('*').all(part, key.contains(part))))`;
/** Is true if the agent's rule (crossing-keys.ts) or one of its own marks lets all changed keys come from the provider. */
const cross = (changed: string, words: string, marks: readonly string[]): string =>
  `${changed}.all(key, key in ${quoted(marks)} || ${matches("variables.safeKeys")} || (${matches(words)} && !${matches("variables.keptKeys")}))`;

/** Is true if the provider may set the key on an object that it does not own. */
const ownKey = (words: string): string =>
  `${matches(words)} && (${matches("variables.safeKeys")} || !${matches("variables.keptKeys")})`;

/** The last words of the resource's rights of this kind. */
const wordsOf = (verb: string): string =>
  `variables.rights.filter(right, right.startsWith('${verb} ' + variables.resource + ' ')).map(right, right.split(' ')[2])`;
/** Is true if a right of this kind covers the object; that of a cluster-scoped one may name any namespace. */
const covers = (verb: string): string =>
  `(variables.place == '' ? ${wordsOf(verb)}.exists(word, word.endsWith('/*') || word.endsWith('/' + variables.name)) : [string(variables.place), '*'].exists(place, [string(variables.name), '*'].exists(name, '${verb} ' + variables.resource + ' ' + place + '/' + name in variables.rights)))`;

const isSameField = "(field in object && field in oldObject && object[field] == oldObject[field])";
/** Is true if each side's entries of `data` are in the other, too, or a right names them. */
const keepsData =
  "[[object, oldObject], [oldObject, object]].all(pair, !(field in pair[0]) || pair[0][field].all(entry, (field + '.' + entry) in variables.fields || (field in pair[1] && entry in pair[1][field] && pair[0][field][entry] == pair[1][field][entry])))";
const mayChangeField = `field == 'metadata' || ${isSameField} || field in variables.fields || (field in ['data', 'binaryData'] ? ${keepsData} : variables.fields.exists(path, path.startsWith(field + '.')))`;

/** The same forms as in built-in-words.ts. */
const follows = (singular: string, plural: string): string =>
  `['', 's', 'es'].exists(end, ${plural} == ${singular} + end) || (${singular}.endsWith('y') && ${plural} == ${singular}.substring(0, ${singular}.size() - 1) + 'ies')`;

/** Words that kubectl takes for the kind. The plural name, and a singular name that follows from it, are what a person bound. */
const wordsOfKind = (crd: string): string =>
  `((has(${crd}.spec.names.shortNames) ? ${crd}.spec.names.shortNames : []) + (has(${crd}.spec.names.categories) ? ${crd}.spec.names.categories : []) + (has(${crd}.spec.names.singular) && !(${follows(`${crd}.spec.names.singular`, `${crd}.spec.names.plural`)}) ? [${crd}.spec.names.singular] : []))`;

/** The same with the lists as CEL writes them, for a template that fills them in. Types are all that may cross. */
export function konnectorPolicyOf({
  apis,
  claims,
  secretTypes,
  updates,
  ...autoBind
}: Readonly<
  Record<"apis" | "claims" | "secretTypes" | "updates" | keyof AutoBindScope, string>
>): readonly Manifest[] {
  const isApi = (name: string): string => `(${name} in ${apis} || ${isAutoBindable(name, autoBind)})`;
  const isOwner = "owner.kind == 'APIServiceBinding' && owner.name == object.metadata.name";
  const bindingKeys = quoted([providerUidAnnotation, providerVersionAnnotation, unreachableSinceAnnotation]);
  const isOwnComponent = (event: string): string =>
    `(${event} == null || [has(${event}.source) && has(${event}.source.component) ? ${event}.source.component : '', has(${event}.reportingComponent) ? ${event}.reportingComponent : '', has(${event}.reportingController) ? ${event}.reportingController : ''].all(name, name in ['', '${konnectorName}']))`;
  return accountPolicyManifests({
    name: konnectorPolicyName,
    account: { namespace: consumerNamespace, name: konnectorName },
    variables: {
      rights: `${claims}.map(right, string(right))`,
      safeKeys: quoted(safeKeyPatterns),
      keptKeys: quoted(keptKeyPatterns),
      builtInWords: quoted(builtInWords),
      name: "string(has(request.name) && request.name != '' ? request.name : variables.written.metadata.name)",
      isMain: "variables.part == '' || variables.part == 'status'",
      isBound: `${isApi("variables.resource")} && variables.isMain`,
      isClaimed: `variables.isMain && ['copy ', 'patch '].exists(verb, variables.rights.exists(right, right.startsWith(verb + variables.resource + ' ')))`,
      isHome: `variables.place == '${consumerNamespace}'`,
      isOwnKubeconfig:
        "variables.isHome && variables.resource == 'secrets' && request.operation != 'DELETE' && variables.written.type == 'Opaque'",
      isLease:
        "variables.isHome && variables.resource == 'leases.coordination.k8s.io' && request.operation != 'DELETE'",
      isEvent: "variables.resource in ['events', 'events.events.k8s.io'] && request.operation != 'DELETE'",
      isBinding: `variables.resource == 'apiservicebindings.${bindGroup}' && variables.isMain && request.operation == 'UPDATE'`,
      isNewBinding: `${isNewBinding} && ${isAutoBindable("variables.name", autoBind)}`,
      updates,
      isUpdate: isOwnUpdate,
      ...updateVariables,
      isCrd:
        "variables.resource == 'customresourcedefinitions.apiextensions.k8s.io' && variables.part == '' && request.operation != 'DELETE'",
      hasGoodType: `!${isOwnSecretType} && (variables.written.type in ${secretTypes} || variables.written.type.startsWith('${serviceBindingPrefix}'))`,
      isCrossing: "variables.isClaimed && !variables.isBound && !variables.isHome",
      isRemoval: "request.operation == 'DELETE'",
      changedLabels: changedKeys("labels"),
      changedAnnotations: changedKeys("annotations"),
      labelWords: wordsOf("labels"),
      annotationWords: wordsOf("annotations"),
      ownLabelWords: wordsOf("own-labels"),
      ownAnnotationWords: wordsOf("own-annotations"),
      fields: wordsOf("field"),
      keepsOwners: `${metadataOf("object", "ownerReferences", "[]")}.all(owner, owner in ${metadataOf("oldObject", "ownerReferences", "[]")} || (variables.isCrd && ${isOwner}))`,
      keepsFinalizers: `${metadataOf("object", "finalizers", "[]")}.all(finalizer, finalizer in ${metadataOf("oldObject", "finalizers", "[]")} || (variables.isBinding && finalizer == '${unbindFinalizer}'))`,
      isCopy: marked("oldObject", "['Provider']"),
      isPatch: `request.operation == 'UPDATE' && !variables.isCopy && ${covers("patch")}`,
      isGoodPatch: `${keepsKeys("labels")} && variables.changedLabels.all(key, ${ownKey("variables.ownLabelWords")}) && ${keepsKeys("annotations")} && variables.changedAnnotations.all(key, ${ownKey("variables.ownAnnotationWords")}) && ${isSameMetadata("ownerReferences")} && ${isSameMetadata("finalizers")} && [object, oldObject].all(side, side.all(field, ${mayChangeField}))`,
      isGoodCopy: `${marked("object", "['Provider', 'Consumer']")} && ${cross("variables.changedLabels", "variables.labelWords", [claimedFromLabel])} && ${cross("variables.changedAnnotations", "variables.annotationWords", [resourceOwnerAnnotation, sourceHashAnnotation])}`,
    },
    rules: [
      {
        expression:
          "variables.isBound || variables.isClaimed || variables.isOwnKubeconfig || variables.isLease || variables.isEvent || variables.isBinding || variables.isNewBinding || variables.isCrd || variables.isUpdate",
        message: `the konnector may write only bound APIs, accepted claims and its own objects`,
      },
      {
        expression: `variables.isOwnKubeconfig || variables.isLease || variables.isEvent || variables.isBinding || variables.isNewBinding || variables.isUpdate || variables.isBound || !${isSystemNamespace("variables.place")}`,
        message: "the konnector may not write claimed objects into namespaces of Kubernetes or of Klutch",
      },
      {
        expression:
          "!variables.isCrossing || variables.resource != 'secrets' || variables.isRemoval || variables.hasGoodType",
        message: "the konnector may not write Secrets of this type",
      },
      {
        expression: `!variables.isCrossing || variables.isRemoval || variables.isPatch || ${covers("copy")}`,
        message: "the konnector may write only objects that an accepted claim names",
      },
      {
        expression: `!variables.isCrossing || request.operation == 'CREATE' || variables.isCopy || ${covers("take")} || (variables.isPatch && variables.isGoodPatch)`,
        message: `the konnector may change or delete only what carries ${resourceOwnerAnnotation}`,
      },
      {
        expression:
          "!variables.isCrossing || variables.isRemoval || variables.isGoodCopy || (variables.isPatch && variables.isGoodPatch)",
        message: `the konnector may write no object without ${resourceOwnerAnnotation}, and no labels and annotations of other controllers`,
      },
      {
        expression:
          "variables.isRemoval || variables.isBound || variables.isLease || variables.isEvent || (variables.keepsOwners && variables.keepsFinalizers)",
        message: "the konnector may not add owners and finalizers",
      },
      {
        expression: `!variables.isOwnKubeconfig || (variables.changedLabels.size() == 0 && variables.changedAnnotations.all(key, request.operation == 'UPDATE' && key == '${renewalUrlAnnotation}') && ${keepsKeys("labels")} && ${keepsKeys("annotations")} && (request.operation == 'CREATE' || variables.name != '${clusterKeySecret}'))`,
        message:
          "the konnector may not change labels and annotations of its own Secrets, nor the key of the cluster",
      },
      {
        expression: `!variables.isEvent || (${isOwnComponent("object")} && ${isOwnComponent("oldObject")})`,
        message: "the konnector may not write events of other components",
      },
      {
        expression: `!variables.isBinding || variables.part == 'status' || (object.spec == oldObject.spec && ${metadataOf("object", "labels", "{}")} == ${metadataOf("oldObject", "labels", "{}")} && variables.changedAnnotations.all(key, key in ${bindingKeys}) && ${metadataOf("oldObject", "annotations", "{}")}.all(key, key in ${bindingKeys} || key in ${metadataOf("object", "annotations", "{}")}))`,
        message: "the konnector may not change what a binding allows",
      },
      {
        expression: `!variables.isNewBinding || (${isModestBinding})`,
        message: "the konnector may create only bindings that accept no permission claim",
      },
      {
        expression: `!variables.isUpdate || (${isModestUpdate})`,
        message:
          "the konnector may change only the tag of its own image, to the version of a release that is allowed",
      },
      {
        expression: `!variables.isCrd || (${isApi("object.metadata.name")} && has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, ${isOwner}) && (!has(object.spec.conversion) || object.spec.conversion.strategy != 'Webhook'))`,
        message: "the konnector may write only CustomResourceDefinitions of bound APIs",
      },
      {
        expression: `!variables.isCrd || (${wordsOfKind("object")}.all(word, !(word.lowerAscii() in variables.builtInWords) || (oldObject != null && word in ${wordsOfKind("oldObject")})) && (variables.changedLabels + variables.changedAnnotations).all(key, !key.contains('/') || key.startsWith('${bindGroup}/')))`,
        message:
          "the konnector may not give an API words of built-in kinds, nor labels and annotations of other controllers",
      },
    ],
  });
}
