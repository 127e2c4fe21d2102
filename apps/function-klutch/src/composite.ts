/** What is read of a composite and of a managed resource that exists. */
import {
  claimKindAnnotation,
  claimNameLabel,
  claimNamespaceLabel,
  serviceInstances,
  specDigestAnnotation,
  specObservedCondition,
  syncedWordsCondition,
} from "@klutch/api";
import type {
  ComposeCondition,
  ComposeRequest,
  ComposeResponse,
  ComposeResult,
  Json,
  ObservedResource,
} from "@klutch/crossplane";
import { conditionsOf, isRecord, parseDuration, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { type UsualTimes, usualTimes } from "@klutch/services";
import { managedStateOf, reportedConditions } from "./managed-state.ts";
import { type Blame, wordsOf } from "./words.ts";

/** Claims of all other kinds only name what cannot be changed. */
const changeableKind = serviceInstances.kind;

/** Whose the composite is. */
export interface ClaimIdentity {
  readonly name: string;
  readonly namespace: string;
}

/** Name of the only composed resource, unless one exists under another. */
const composedName = "managed";

/**
 * The claim of a legacy composite, from the labels Crossplane puts on it; for a namespaced composite, which has no claim, its own
 * name and namespace. Undefined when neither is there.
 */
export function claimOf(composite: Json): ClaimIdentity | undefined {
  const labels = valueAt(composite, "metadata", "labels");
  return (
    identityOf(textAt(labels, claimNameLabel), textAt(labels, claimNamespaceLabel)) ??
    identityOf(textAt(composite, "metadata", "name"), textAt(composite, "metadata", "namespace"))
  );
}

function identityOf(name: string | undefined, namespace: string | undefined): ClaimIdentity | undefined {
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

/** Labels of what belongs to the claim. */
export function claimLabels(claim: ClaimIdentity): Readonly<Record<string, string>> {
  return { [claimNameLabel]: claim.name, [claimNamespaceLabel]: claim.namespace };
}

/** Stops the pipeline: the composite belongs to nobody. */
export const noClaim: ComposeResponse = {
  resources: {},
  results: [
    {
      severity: "fatal",
      message: "the composite has neither a claim nor a namespace; create it through its claim",
    },
  ],
};

/**
 * The answer with the one managed resource, its readiness, what it reports, and the words for the claim. `blame` says which fields of the
 * claim a refusal is about.
 */
export function answer(
  request: ComposeRequest,
  resource: Json,
  reported: readonly string[],
  blame: readonly Blame[] = [],
): ComposeResponse {
  const { composite } = request;
  const name = nameOfComposed(request.observed, resource);
  if (name === undefined) return severalComposed;
  const observed = request.observed[name];
  const state = managedStateOf(observed?.resource, resource);
  const words = wordsOf(state, {
    usual: usualOf(request, resource),
    now: request.now,
    isChangeable: resource["kind"] === changeableKind,
    blame,
  });
  const values = [
    ...reported.map((field) => [field, valueAt(observed?.resource, "status", "atProvider", field)] as const),
    ["credentials", credentialsOf(observed, resource)] as const,
    ["conditions", reportedConditions(observed?.resource)] as const,
  ];
  const managed: Json = Object.fromEntries<unknown>(values.filter(([, value]) => value !== undefined));
  return {
    resources: { [name]: { resource: withClaimKind(resource, composite), ready: words.isReady } },
    compositeStatus: { managed },
    conditions: [...words.conditions, ...specObserved(composite), ...replacedCondition(composite)],
    results: words.problem === undefined ? [] : [serviceProblem(words.problem)],
  };
}

function serviceProblem(message: string): ComposeResult {
  return { severity: "warning", reason: "ServiceProblem", message };
}

/** Of the Composition, where it says them. */
function usualOf({ input }: ComposeRequest, { kind }: Json): UsualTimes {
  const takes = valueAt(input, "takes");
  if (!isRecord(takes)) return usualTimes[String(kind)] ?? {};
  const time = (operation: string): number | undefined => parseDuration(textAt(takes, operation) ?? "");
  return { create: time("create"), change: time("change"), delete: time("delete") };
}

/** The Secret that was written, and its keys; never a value. */
function credentialsOf(observed: ObservedResource | undefined, resource: Json): Json | undefined {
  const name = textAt(resource, "spec", "writeConnectionSecretToRef", "name");
  const keys = Object.keys(observed?.connection ?? {}).toSorted();
  return name === undefined || keys.length === 0 ? undefined : { name, keys };
}

/** With the claim's kind, for events about the claim while Crossplane asks no function any more. */
function withClaimKind(resource: Json, composite: Json): Json {
  const isOwn = textAt(composite, "metadata", "namespace") !== undefined;
  const owner = valueAt(composite, "spec", "claimRef") ?? (isOwn ? composite : undefined);
  const [apiVersion, kind] = [textAt(owner, "apiVersion"), textAt(owner, "kind")];
  if (apiVersion === undefined || kind === undefined) return resource;
  const annotations = {
    ...recordAt(resource, "metadata", "annotations"),
    [claimKindAnnotation]: `${apiVersion}/${kind}`,
  };
  return { ...resource, metadata: { ...recordAt(resource, "metadata"), annotations } };
}

/** Which spec was composed, for an agent that marked it. */
function specObserved(composite: Json): readonly ComposeCondition[] {
  const mark = textAt(composite, "metadata", "annotations", specDigestAnnotation);
  if (mark === undefined || !/^[0-9a-f]{16}$/.test(mark)) return [];
  return [{ type: specObservedCondition, status: "True", reason: `Sha256_${mark}` }];
}

/** Crossplane keeps a condition that is not written any more, so one that `Synced` replaced says so where it is left. */
function replacedCondition(composite: Json): readonly ComposeCondition[] {
  const type = "ManagedResourceSynced";
  if (!conditionsOf(composite).some((condition) => condition.type === type)) return [];
  return [{ type, status: "Unknown", reason: "Replaced", message: `see ${syncedWordsCondition}` }];
}

/**
 * Name by which Crossplane knows the managed resource. One that another Composition made keeps the name that it has: under a new name it
 * would be deleted, and its database with it, and another be made. Undefined when several could be meant.
 */
function nameOfComposed(observed: ComposeRequest["observed"], wanted: Json): string | undefined {
  if (observed[composedName] !== undefined) return composedName;
  const isOfKind = ({ resource }: { readonly resource: Json }): boolean =>
    resource["apiVersion"] === wanted["apiVersion"] && resource["kind"] === wanted["kind"];
  const present = Object.entries(observed).filter(([, composed]) => isOfKind(composed));
  const [first = composedName, ...others] = present.map(([name]) => name);
  return others.length === 0 ? first : undefined;
}

const several =
  "several managed resources of this kind are composed already, and none is called managed; nothing is changed";

/** The claim is warned first: a fatal result reaches the composite only. */
const severalComposed: ComposeResponse = {
  resources: {},
  results: [serviceProblem(several), { severity: "fatal", message: several }],
};
