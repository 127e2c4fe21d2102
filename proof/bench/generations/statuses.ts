/** Two kinds of the same claims: one whose schema has generations, and one without, whose status is copied as it is. */
import {
  readyWordsCondition,
  specObservedCondition,
  specObservedReason,
  syncedWordsCondition,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { anyObject, conditionsSchema } from "@klutch/kube-testing";
import { projectStatus, statusViewOf, type StatusView } from "@klutch/sync";
import { type WidgetKind, widgetKind } from "../harness/widget.ts";

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
  return {
    conditions: [
      condition("Synced", "ReconcileSuccess", "", generation),
      condition("Ready", "Available", "", generation),
      condition(readyWordsCondition, "Available", "the instance is there and takes logins", generation),
      condition(syncedWordsCondition, "UpToDate", "the instance is as the claim asks for it", generation),
      condition(specObservedCondition, specObservedReason(mark), "", generation),
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

function condition(type: string, reason: string, message: string, observedGeneration: number): object {
  const lastTransitionTime = "2026-11-22T10:11:12Z";
  return { lastTransitionTime, message, observedGeneration, reason, status: "True", type };
}

function treatment(index: number, status: object): Treatment {
  const schema = { type: "object", properties: { status } };
  const view = statusViewOf(schema, { isSubresource: true, isIgnored: false });
  return { kind: widgetKind(index, { status }), view };
}
