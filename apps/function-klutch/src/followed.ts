/**
 * Finds the ProviderConfig of what follows an instance: a binding goes to its broker, a backup to the backup manager of its region, a restore to
 * that of its backup. What was made stays where it was made. Crossplane is asked while nothing was made, and only an object that was made at a
 * labelled broker changes the name, so that everything else is composed as without regions.
 */
import {
  claimNameLabel,
  claimNamespaceLabel,
  instanceTypeLabel,
  namespacedDataservicesGroup,
  regionLabel,
  serviceTypeLabel,
} from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json, RequiredResources } from "@klutch/crossplane";
import { apiVersionOf, isDnsSubdomain, recordAt, type ResourceType, textAt } from "@klutch/kube-core";
import { nameOfComposed } from "./composite.ts";
import { misconfiguredRegion } from "./broker-choice.ts";
import type { ClaimIdentity } from "./managed-resource.ts";
import { configsOf, isConfigOf, placementLabels, refused } from "./placement.ts";

type Required = Readonly<Record<string, RequiredResources>>;

/** The ProviderConfig, with the labels of the object that is followed. */
export interface Followed {
  readonly config: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly required?: Required | undefined;
}

/** The facts of a question. */
export interface FollowQuestion {
  readonly claim: ClaimIdentity;
  /** Type of data service that the claim says. */
  readonly type: string;
  /** The kind of the managed resource that is followed, and the name of its claim. */
  readonly of: ResourceType;
  readonly name: string;
  /** Name of the ProviderConfig without regions. */
  readonly usual: string;
  /** The managed resource as it would be composed. */
  readonly wanted: Json;
}

const recordPrefix = "anynines.crossplane.io/";
const followedRequirement = "followed";
const managersRequirement = "managers";

/** The ProviderConfig of the object that is followed. */
export function followed(request: ComposeRequest, question: FollowQuestion): Followed {
  const living = livingOf(request, question);
  if (living !== undefined && wasBegun(living)) return ofLiving(living, question);
  const { usual } = question;
  const required = { [followedRequirement]: wantedObject(question) };
  const object = objectIn(request, question);
  const config = textAt(object, "spec", "providerConfigRef", "name");
  if (config === undefined || !isDnsSubdomain(config)) return { config: usual, labels: {}, required };
  return { config, labels: labelsOf(object), required };
}

/**
 * The backup manager in the region of the instance that is followed, else the usual one. Two in one region are a mistake, and an answer that
 * makes nothing.
 */
export function followedManager(
  request: ComposeRequest,
  question: FollowQuestion,
): Followed | { readonly answer: ComposeResponse } {
  const { claim, type, usual } = question;
  const { labels, required, config } = followed(request, question);
  if (required === undefined) return { config, labels };
  const region = labels[regionLabel];
  if (region === undefined) return { config: usual, labels, required };
  const matchLabels = { [serviceTypeLabel]: type, [regionLabel]: region };
  const all = { ...required, [managersRequirement]: { ...configsOf(claim), matchLabels } };
  const names = (request.required?.[managersRequirement] ?? [])
    .filter((one) => isConfigOf(one, claim, "backupmanager", matchLabels))
    .flatMap((one) => textAt(one, "metadata", "name") ?? [])
    .filter(isDnsSubdomain)
    .toSorted();
  const [first, second] = names;
  if (second !== undefined) {
    const problem = `the backup managers ${first} and ${second} both claim the region ${region} of ${type}; relabel one of them`;
    return { answer: refused(request, misconfiguredRegion(problem)) };
  }
  return { config: first ?? usual, labels, required: all };
}

function livingOf({ observed }: ComposeRequest, { wanted }: FollowQuestion): Json | undefined {
  return observed[nameOfComposed(observed, wanted) ?? ""]?.resource;
}

/** The provider records each call in such annotations before it makes it. */
function wasBegun(living: Json): boolean {
  return Object.keys(recordAt(living, "metadata", "annotations")).some((name) =>
    name.startsWith(recordPrefix),
  );
}

function ofLiving(living: Json, { usual }: FollowQuestion): Followed {
  const config = textAt(living, "spec", "providerConfigRef", "name") || usual;
  return { config, labels: labelsOf(living) };
}

/** The labels of an object that was made at a labelled broker; none of any other. */
function labelsOf(object: Json | undefined): Readonly<Record<string, string>> {
  const [type, region] = [instanceTypeLabel, regionLabel].map((label) =>
    textAt(object, "metadata", "labels", label),
  );
  return type === undefined ? {} : placementLabels(type, region);
}

function wantedObject({ claim, of, name }: FollowQuestion): RequiredResources {
  const type = claim.isComposite ? { ...of, group: namespacedDataservicesGroup } : of;
  return {
    apiVersion: apiVersionOf(type),
    kind: of.kind,
    matchLabels: { [claimNameLabel]: name, [claimNamespaceLabel]: claim.namespace },
  };
}

/**
 * The one object of that claim, if it was made at a labelled broker for the type that the claim says. Crossplane's answer is believed only as
 * far as each object says itself whose it is; a namespaced one counts only beside the claim, and at a ClusterProviderConfig, because people may
 * write such objects themselves.
 */
function objectIn({ required }: ComposeRequest, question: FollowQuestion): Json | undefined {
  const { claim, of, name, type } = question;
  const found = (required?.[followedRequirement] ?? []).filter(
    (one) =>
      one["kind"] === of.kind &&
      textAt(one, "metadata", "labels", claimNameLabel) === name &&
      textAt(one, "metadata", "labels", claimNamespaceLabel) === claim.namespace &&
      textAt(one, "metadata", "namespace") === (claim.isComposite ? claim.namespace : undefined),
  );
  const [one] = found;
  if (one === undefined || found.length > 1) return undefined;
  const kind = textAt(one, "spec", "providerConfigRef", "kind");
  if (claim.isComposite && kind !== "ClusterProviderConfig") return undefined;
  return labelsOf(one)[instanceTypeLabel] === type ? one : undefined;
}
