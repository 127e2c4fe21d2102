/** Reads a composite and its existing managed resource. */
import {
  claimKindAnnotation,
  serviceInstances,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
  syncedWordsCondition,
} from "@klutch/api";
import type {
  ComposeCondition,
  ComposeRequest,
  ComposeResponse,
  Json,
  ObservedResource,
} from "@klutch/crossplane";
import { conditionsOf, isRecord, parseDuration, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { type UsualTimes, usualTimes } from "@klutch/services";
import { isSame } from "./living.ts";
import { refusal, serviceProblem } from "./refusal.ts";
import { type ManagedState, managedStateOf, reportedConditions } from "./managed-state.ts";
import { type Blame, type WordsContext, wordsOf } from "./words.ts";

/** Claims of all other kinds only name what cannot be changed. */
const changeableKind = serviceInstances.kind;

/** Name of the only composed resource, unless one exists under another. */
const composedName = "managed";

/** Stops the pipeline: the composite has no owner. */
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
  const name = nameOfComposed(request.observed, resource);
  if (name === undefined) return severalComposed;
  const observed = request.observed[name];
  const values = [
    ...reported.map((field) => [field, valueAt(observed?.resource, "status", "atProvider", field)] as const),
    ["credentials", credentialsOf(observed, resource)] as const,
    ["conditions", reportedConditions(observed?.resource)] as const,
  ];
  return answerWith(request, {
    name,
    resource,
    state: managedStateOf(observed?.resource, resource),
    managed: Object.fromEntries<unknown>(values.filter(([, value]) => value !== undefined)),
    usual: usualOf(request, String(resource["kind"])),
    isChangeable: resource["kind"] === changeableKind,
    blame,
  });
}

/** A composed resource and its state. */
interface Composed extends Omit<WordsContext, "now"> {
  /** Name by which Crossplane identifies it. */
  readonly name: string;
  readonly resource: Json;
  readonly state: ManagedState;
  /** Content of the claim's `status.managed`. */
  readonly managed: Json;
}

/** The answer with a resource that `nameOfComposed` has a name for. */
export function answerWith(
  request: ComposeRequest,
  { name, resource, state, managed, ...context }: Composed,
): ComposeResponse {
  const { composite, now } = request;
  const words = wordsOf(state, { ...context, now });
  return {
    resources: { [name]: { resource: withClaimKind(resource, composite), ready: words.isReady } },
    compositeStatus: { managed },
    conditions: [...words.conditions, ...specObserved(composite), ...replacedCondition(composite)],
    results: words.problem === undefined ? [] : [serviceProblem(words.problem)],
  };
}

/** Returns the usual times of the Composition if it sets them, else those of the managed resource's kind. */
export function usualOf({ input }: ComposeRequest, kind: string): UsualTimes {
  const takes = valueAt(input, "takes");
  if (!isRecord(takes)) return usualTimes[kind] ?? {};
  const time = (operation: string): number | undefined => parseDuration(textAt(takes, operation) ?? "");
  return { create: time("create"), change: time("change"), delete: time("delete") };
}

/** The Secret that was written, and its keys; never a value. */
function credentialsOf(observed: ObservedResource | undefined, resource: Json): Json | undefined {
  const name = textAt(resource, "spec", "writeConnectionSecretToRef", "name");
  const keys = Object.keys(observed?.connection ?? {}).toSorted();
  return name === undefined || keys.length === 0 ? undefined : { name, keys };
}

/** Adds the claim's kind, for events about the claim while Crossplane no longer calls the function. */
function withClaimKind(resource: Json, composite: Json): Json {
  const isOwn = textAt(composite, "metadata", "namespace") !== undefined;
  const owner = isOwn ? composite : valueAt(composite, "spec", "claimRef");
  const [apiVersion, kind] = [textAt(owner, "apiVersion"), textAt(owner, "kind")];
  if (apiVersion === undefined || kind === undefined) return resource;
  const metadata = recordAt(resource, "metadata");
  const annotations = {
    ...recordAt(metadata, "annotations"),
    [claimKindAnnotation]: `${apiVersion}/${kind}`,
  };
  return { ...resource, metadata: { ...metadata, annotations } };
}

/** Reports which spec was composed, for an agent that marked it. */
export function specObserved(composite: Json): readonly ComposeCondition[] {
  const mark = textAt(composite, "metadata", "annotations", specDigestAnnotation);
  if (mark === undefined || !/^[0-9a-f]{16}$/.test(mark)) return [];
  return [{ type: specObservedCondition, status: "True", reason: specObservedReason(mark) }];
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
export function nameOfComposed(observed: ComposeRequest["observed"], wanted: Json): string | undefined {
  if (observed[composedName] !== undefined) return composedName;
  const present = Object.entries(observed).filter(([, { resource }]) => isSame(resource, wanted));
  const [first = composedName, ...others] = present.map(([name]) => name);
  return others.length === 0 ? first : undefined;
}

/** Error if `nameOfComposed` finds no name. */
export const severalComposed: ComposeResponse = refusal(
  "several managed resources of this kind are composed already, and none is called managed; nothing is changed",
);
