/** A claim and its upstream object in sync, as two API servers would send them. */
import {
  boundAnnotation,
  fieldManager,
  readyWordsCondition,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
  syncedWordsCondition,
  syncerFinalizer,
} from "@klutch/api";
import { canonicalJson, type DynamicObject } from "@klutch/kube-core";
import { projectStatus, specMark, type StatusView, statusViewOf } from "@klutch/sync";
import { anyObject, conditionsSchema } from "@klutch/kube-testing";
import { widget, type WidgetContents, type WidgetKind, widgetKind } from "../harness/widget.ts";
import { mirrorOf, workNamespace } from "../harness/fixture.ts";

/** JSON with sorted keys, as servers write it. */
export interface SentPair {
  readonly claim: string;
  readonly upstream: string;
  /** The upstream object with its next status. */
  readonly news: string;
  /** The claim with that. */
  readonly answer: string;
}

const [claimGeneration, upstreamGeneration] = [2, 5];

/** A pair of this name with random contents. */
export function sentPair(view: StatusView, name: string, contents: WidgetContents): SentPair {
  const made = widget({ namespace: workNamespace, name }, contents);
  const mark = specMark(made);
  const { spec } = made;
  const marks = { [boundAnnotation]: "true", [specDigestAnnotation]: mark };
  const says = (round: number): object => providerStatus(upstreamGeneration, mark, round);
  const upstream = {
    ...made,
    metadata: {
      ...serverFields(`upstream-${name}`, upstreamGeneration),
      name,
      namespace: mirrorOf(workNamespace),
      annotations: marks,
      managedFields: [
        entry(fieldManager, "Apply", { spec, metadata: { annotations: marks } }),
        entry("crossplane", "Update", { status: says(1) }),
      ],
    },
  };
  const bound = { annotations: { [boundAnnotation]: "true" } };
  const claim = {
    ...made,
    metadata: {
      ...serverFields(`claim-${name}`, claimGeneration),
      ...bound,
      name,
      namespace: workNamespace,
      finalizers: [syncerFinalizer],
      managedFields: [
        entry("kubectl", "Apply", { spec }),
        entry(fieldManager, "Apply", { metadata: bound }),
        entry(fieldManager, "Update", { status: says(1) }),
      ],
    },
  };
  const saying = (round: number): DynamicObject => ({ ...upstream, status: says(round) });
  const showing = (round: number): object => ({ ...claim, status: shownStatus(view, claim, saying(round)) });
  return {
    claim: canonicalJson(showing(1)),
    upstream: canonicalJson(saying(1)),
    news: canonicalJson(saying(2)),
    answer: canonicalJson(showing(2)),
  };
}

function serverFields(uid: string, generation: number): object {
  return { creationTimestamp: "2026-11-22T10:00:00Z", generation, resourceVersion: "4711", uid };
}

/** Returns the managedFields entry of one manager. */
function entry(manager: string, operation: "Apply" | "Update", fields: object): object {
  const time = "2026-11-22T10:11:12Z";
  return { apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: fieldsOf(fields), manager, operation, time };
}

/** FieldsV1 of all leaves; lists as a whole. */
function fieldsOf(value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [`f:${key}`, fieldsOf(child)]));
}

const number = { type: "integer", format: "int64" };
const translatedStatus = {
  type: "object",
  properties: { observedGeneration: number, conditions: conditionsSchema, round: number, managed: anyObject },
};

/** One of the two kinds and the way in which its status is synced. */
export interface Treatment {
  readonly kind: WidgetKind;
  /** The view that the engine reads from the kind's schema. */
  readonly view: StatusView;
}

/** Both kinds, by the handling of their status. */
export const treatments: { readonly translated: Treatment; readonly copied: Treatment } = {
  translated: treatment(1, translatedStatus),
  copied: treatment(2, anyObject),
};

/** Returns a provider's status for an object of this generation and mark, with a managed resource's words, as our composition writes it. */
export function providerStatus(generation: number, mark: string, round: number): object {
  const condition = (type: string, reason: string, message = ""): object => ({
    lastTransitionTime: "2026-11-22T10:11:12Z",
    message,
    observedGeneration: generation,
    reason,
    status: "True",
    type,
  });
  return {
    conditions: [
      condition("Synced", "ReconcileSuccess"),
      condition("Ready", "Available"),
      condition(readyWordsCondition, "Available", "the instance is there and takes logins"),
      condition(syncedWordsCondition, "UpToDate", "the instance is as the claim asks for it"),
      condition(specObservedCondition, specObservedReason(mark)),
    ],
    managed: {
      instance: { id: "6f1c8a52-0f0e-4c39-9d1c-1f6c0f0a6d11", plan: "single-small", version: "15.8" },
      endpoints: [
        { host: "pg-6f1c8a52.data.example.org", port: 5432 },
        { host: "pg-6f1c8a52-ro.data.example.org", port: 5432 },
      ],
      lastOperation: { type: "update", state: "succeeded", at: "2026-11-22T10:11:12Z" },
    },
    observedGeneration: generation,
    round,
  };
}

/** The status that a claim shows for its upstream object. */
export function shownStatus(view: StatusView, claim: DynamicObject, provider: DynamicObject): unknown {
  return projectStatus({ view, claim, provider, notSent: undefined, now: 0 });
}

function treatment(index: number, status: object): Treatment {
  const schema = { type: "object", properties: { status } };
  const view = statusViewOf(schema, { isSubresource: true, isIgnored: false });
  return { kind: widgetKind(index, { status }), view };
}
