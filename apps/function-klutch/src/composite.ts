/** What is read of a composite and of a managed resource that exists. */
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { ComposeCondition, ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { conditionsOf, isRecord, textAt, valueAt } from "@klutch/kube-core";

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

/** The answer with the one managed resource, its readiness, what it reports, and its problem if it has one. */
export function answer(
  request: ComposeRequest,
  resource: Json,
  reported: readonly string[],
): ComposeResponse {
  const name = nameOfComposed(request.observed, resource);
  if (name === undefined) return severalComposed;
  const observed = request.observed[name]?.resource;
  const conditions = composeConditionsOf(observed);
  const ready = conditions.find(({ type }) => type === "Ready");
  const values = reported.map((field) => [field, valueAt(observed, "status", "atProvider", field)] as const);
  const managed: Json = Object.fromEntries<unknown>(values.filter(([, value]) => value !== undefined));
  return {
    resources: { [name]: { resource, ready: ready?.status === "True" } },
    compositeStatus: { managed: { ...managed, conditions: valueAt(observed, "status", "conditions") ?? [] } },
    conditions: problemOf(conditions),
  };
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

const severalComposed: ComposeResponse = {
  resources: {},
  results: [
    {
      severity: "fatal",
      message:
        "several managed resources of this kind are composed already, and none is called managed; nothing is changed",
    },
  ],
};

/** Brings what the broker said to the claim, word for word. */
function problemOf(conditions: readonly ComposeCondition[]): readonly ComposeCondition[] {
  const synced = conditions.find(({ type }) => type === "Synced");
  if (synced === undefined) return [];
  const { status, reason, message } = synced;
  return [{ type: "ManagedResourceSynced", status, reason, message }];
}

function composeConditionsOf(observed: unknown): readonly ComposeCondition[] {
  return conditionsOf(isRecord(observed) ? observed : undefined).map(
    ({ type, status, reason = "", message = "" }) => ({
      type,
      status: status === "True" || status === "False" ? status : "Unknown",
      reason,
      ...(message === "" ? {} : { message }),
    }),
  );
}
