/**
 * Decides where a new instance is made: its organisation and space, and its broker. An instance that exists keeps both. Crossplane is asked in
 * as few rounds as possible, because it repeats the call until nothing new is required, at most five times:
 *
 * | round | required besides              | asked when                                                              |
 * |-------|-------------------------------|-------------------------------------------------------------------------|
 * | 1     | `environment`, `brokers`      | always, for a new instance                                              |
 * | 2     | `namespace`                   | some broker is labelled for the service                                 |
 * | 3     | `cluster-environment`         | the Namespace belongs to an app cluster                                 |
 *
 * Only the backend writes Namespaces of app clusters, so no claim chooses the rule that holds for it.
 */
import {
  clusterNamespaceAnnotation,
  dataservicesGroup,
  instanceTypeLabel,
  namespacedDataservicesGroup,
  readServiceNamespaceOwner,
  regionLabel,
  serviceNamespaceAnnotation,
  serviceTypeLabel,
} from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json, RequiredResources } from "@klutch/crossplane";
import { plainText, textAt, valueAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";
import {
  chooseBroker,
  type ChosenBroker,
  type KnownBroker,
  misconfiguredRegion,
  type NoBroker,
  readBroker,
  type RegionRule,
} from "./broker-choice.ts";
import {
  type BrokerSpace,
  environmentRequirement,
  environments,
  namespaceOf,
  notMade,
  settingsProblem,
  spaceOf,
} from "./environment.ts";
import type { ClaimIdentity } from "./managed-resource.ts";
import { refusal } from "./refusal.ts";
import { mergedRule, regionRuleIn } from "./region-rules.ts";

/** Place of an instance: organisation and space, and the broker. */
export interface Placement {
  readonly space: BrokerSpace;
  readonly broker: ChosenBroker;
}

/** The facts of a question; `living`: the existing managed resource. */
export interface PlacementQuestion {
  readonly claim: ClaimIdentity;
  readonly type: string;
  readonly living: Json | undefined;
  readonly fallback: BrokerSpace;
  /** False: `spec.region` is something else. */
  readonly takesRegion: boolean;
}

type Required = Readonly<Record<string, RequiredResources>>;
/** Some of what was required, or an answer that makes nothing. */
type Found<T> = { readonly value: T; readonly required: Required } | { readonly answer: ComposeResponse };

/** API group of ProviderConfigs with brokers and backup managers, and their kind. */
export function configsOf({ isComposite }: ClaimIdentity): Pick<RequiredResources, "apiVersion" | "kind"> {
  return isComposite
    ? { apiVersion: `${namespacedDataservicesGroup}/v1`, kind: "ClusterProviderConfig" }
    : { apiVersion: `${dataservicesGroup}/v1`, kind: "ProviderConfig" };
}

/** Decides, or answers what else has to be known, or why nothing can be made. */
export function placementOf(
  request: ComposeRequest,
  question: PlacementQuestion,
):
  | { readonly placement: Placement; readonly required: Required | undefined }
  | { readonly answer: ComposeResponse } {
  const { claim, living, fallback, type } = question;
  const found = spaceOf(request, claim, living, fallback);
  const brokers = {
    [brokersRequirement]: { ...configsOf(claim), matchLabels: { [serviceTypeLabel]: type } },
  };
  if ("answer" in found) {
    const { required } = found.answer;
    return required === undefined
      ? found
      : { answer: { ...found.answer, required: { ...required, ...brokers } } };
  }
  const { space } = found;
  if (found.required === undefined)
    return { placement: { space, broker: brokerOfLiving(living, type) }, required: undefined };
  const required = { ...found.required, ...brokers };
  const known = brokersIn(request, question);
  if (known === undefined) return { answer: waitingFor(request, "ProviderConfigs", required) };
  const rule = ruleOf(request, question, known, required);
  if ("answer" in rule) return rule;
  const region = question.takesRegion ? valueAt(request.composite, "spec", "region") : undefined;
  const wanted = region === undefined || typeof region === "string" ? region : JSON.stringify(region);
  const broker = chooseBroker({ type, wanted, brokers: known, rule: rule.value });
  if ("reason" in broker) return { answer: refused(request, broker) };
  return { placement: { space, broker }, required: rule.required };
}

const brokersRequirement = "brokers";
const namespaceRequirement = "namespace";
const clusterRequirement = "cluster-environment";
/** Label that the API server puts on each Namespace. */
const namespaceNameLabel = "kubernetes.io/metadata.name";

/** Labels of a managed resource at a labelled broker, by which its bindings, backups and restores find that broker. */
export function placementLabels(type: string, region: string | undefined): Readonly<Record<string, string>> {
  return region === undefined ? {} : { [instanceTypeLabel]: type, [regionLabel]: region };
}

/** The broker that an existing managed resource has. */
function brokerOfLiving(living: Json | undefined, type: string): ChosenBroker {
  return {
    config: textAt(living, "spec", "providerConfigRef", "name") || providerConfigName(type),
    region: textAt(living, "metadata", "labels", regionLabel),
  };
}

/** Believes only objects of the kind that say themselves whose they are. Undefined: Crossplane has not answered. */
function brokersIn(
  { required }: ComposeRequest,
  { claim, type }: PlacementQuestion,
): readonly KnownBroker[] | undefined {
  return required?.[brokersRequirement]
    ?.filter((one) => isConfigOf(one, claim, "servicebroker", { [serviceTypeLabel]: type }))
    .flatMap((one) => readBroker(one) ?? []);
}

/** Returns true if Crossplane's object says itself that it is a ProviderConfig of such a service, with these labels. */
export function isConfigOf(
  object: Json,
  claim: ClaimIdentity,
  serviceType: "servicebroker" | "backupmanager",
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    object["kind"] === configsOf(claim).kind &&
    textAt(object, "spec", "serviceType") === serviceType &&
    Object.entries(labels).every(([label, value]) => textAt(object, "metadata", "labels", label) === value)
  );
}

/** The rule that holds for the claim, of its namespace and of its app cluster. */
function ruleOf(
  request: ComposeRequest,
  { claim }: PlacementQuestion,
  brokers: readonly KnownBroker[],
  required: Required,
): Found<RegionRule> {
  const [environment] = request.required?.[environmentRequirement] ?? [];
  const own = environment === undefined ? {} : regionRuleIn(environment);
  if ("problem" in own) return { answer: refused(request, misconfiguredRegion(own.problem)) };
  if (brokers.length === 0) return { value: own, required };
  const cluster = clusterOf(request, namespaceOf(request.composite, claim), required);
  if ("answer" in cluster) return cluster;
  if (cluster.value === undefined) return { value: own, required: cluster.required };
  const ofCluster = clusterRule(request, cluster.value, cluster.required);
  if ("answer" in ofCluster) return ofCluster;
  return { value: mergedRule(own, ofCluster.value), required: ofCluster.required };
}

/** The cluster namespace of the app cluster that a service namespace is of; undefined for one of the control plane itself. */
function clusterOf(
  request: ComposeRequest,
  namespace: string,
  required: Required,
): Found<string | undefined> {
  const asked = { apiVersion: "v1", kind: "Namespace", matchLabels: { [namespaceNameLabel]: namespace } };
  const all = { ...required, [namespaceRequirement]: asked };
  const found = request.required?.[namespaceRequirement];
  if (found === undefined) return { answer: waitingFor(request, "Namespaces", all) };
  const one = found.find(
    (object) => object["kind"] === "Namespace" && textAt(object, "metadata", "name") === namespace,
  );
  // Without it a rule would be passed over.
  if (one === undefined || found.length > 1)
    return {
      answer: refused(
        request,
        misconfiguredRegion(`Crossplane did not give the Namespace ${plainText(namespace, 63)}`),
      ),
    };
  const owner = textAt(one, "metadata", "annotations", serviceNamespaceAnnotation);
  return { value: readServiceNamespaceOwner(owner)?.clusterNamespace, required: all };
}

function clusterRule(request: ComposeRequest, cluster: string, required: Required): Found<RegionRule> {
  const asked = { ...environments, matchLabels: { [clusterNamespaceAnnotation]: cluster } };
  const all = { ...required, [clusterRequirement]: asked };
  const found = request.required?.[clusterRequirement];
  if (found === undefined) return { answer: waitingFor(request, "EnvironmentConfigs", all) };
  const [one] = found;
  if (one === undefined) return { value: {}, required: all };
  const problem = settingsProblem(found, clusterNamespaceAnnotation, cluster);
  const rule = problem === undefined ? regionRuleIn(one) : { problem };
  return "problem" in rule
    ? { answer: refused(request, misconfiguredRegion(rule.problem)) }
    : { value: rule, required: all };
}

/** Stops the pipeline, and says in the claim why nothing is made. */
export function refused({ composite }: ComposeRequest, { reason, message }: NoBroker): ComposeResponse {
  return { ...refusal(message), conditions: notMade(composite, { reason, message }) };
}

/** Only a Crossplane that does not hand these over shows this to anybody; others drop it and ask again. */
function waitingFor({ composite }: ComposeRequest, plural: string, required: Required): ComposeResponse {
  const { reason, message } = misconfiguredRegion(`this Crossplane does not hand ${plural} to functions`);
  return { resources: {}, required, isReady: false, conditions: notMade(composite, { reason, message }) };
}
