/** Reads a managed resource's statements about the wanted spec. They are untrusted: they contain the broker's words. */
import { plainText } from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import {
  conditionsOf,
  contains,
  findCondition,
  jsonEqual,
  numberAt,
  textAt,
  valueAt,
} from "@klutch/kube-core";

/** A condition that is about the spec that is wanted now. */
export interface ReportedCondition {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  /** One bounded line; may be empty. */
  readonly message: string;
}

/** State of one managed resource. */
export interface ManagedState {
  /** Reported `Ready`; undefined if there is none, or if it is about another spec. */
  readonly ready: ReportedCondition | undefined;
  /** Reported `Synced`, by the same rule. */
  readonly synced: ReportedCondition | undefined;
  readonly isDeleting: boolean;
  /** True if it was ready, for this spec or an earlier one. */
  readonly wasReady: boolean;
  /** Start of each operation, in milliseconds since the epoch. */
  readonly since: {
    readonly create: number | undefined;
    readonly change: number | undefined;
    readonly delete: number | undefined;
  };
}

/** Room for the words that follow, in a text of 1024 characters at most. */
const messageLimit = 800;

/**
 * Reads the state. `observed`: the managed resource, if it exists; `wanted`: the spec to reach. A condition counts if the spec contains all
 * of `wanted` and the condition's `observedGeneration` is the generation of that spec. One without a number counts with the spec.
 */
export function managedStateOf(observed: Json | undefined, wanted: Json): ManagedState {
  const holds = holdsSpec(observed, wanted);
  const said = (type: string): ReportedCondition | undefined =>
    holds ? currentOf(observed, type) : undefined;
  const wasProvisioned = textAt(observed, "status", "atProvider", "provisionedAt") !== undefined;
  const isDeleting = textAt(observed, "metadata", "deletionTimestamp") !== undefined;
  const ready = said("Ready");
  const time = (...path: readonly string[]): number | undefined => timeAt(observed, ...path);
  return {
    // Its provider may not have seen the deletion yet.
    ready: isDeleting && ready?.status === "True" ? undefined : ready,
    synced: said("Synced"),
    isDeleting,
    wasReady: wasProvisioned || findCondition(conditionsOf(observed), "Ready")?.status === "True",
    since: {
      create: time("metadata", "creationTimestamp"),
      change: time("status", "atProvider", "updatedAt"),
      delete: time("metadata", "deletionTimestamp"),
    },
  };
}

/** Returns true if the spec contains `wanted` and no further parameter or manifest field: the backend would have been asked for it. */
function holdsSpec(observed: Json | undefined, wanted: Json): boolean {
  if (observed === undefined) return false;
  const part = (resource: Json, name: string): unknown =>
    valueAt(resource, "spec", "forProvider", name) ?? {};
  return (
    contains(valueAt(observed, "spec"), valueAt(wanted, "spec")) &&
    ["parameters", "manifest"].every((name) => jsonEqual(part(observed, name), part(wanted, name)))
  );
}

function currentOf(observed: Json | undefined, type: string): ReportedCondition | undefined {
  const condition = findCondition(conditionsOf(observed), type);
  if (condition === undefined) return undefined;
  const number = valueAt(condition, "observedGeneration");
  if (number !== undefined && number !== numberAt(observed, "metadata", "generation")) return undefined;
  const { status, reason = "", message = "" } = condition;
  return {
    status: status === "True" || status === "False" ? status : "Unknown",
    reason,
    message: plainText(message, messageLimit),
  };
}

const conditionLimit = 20;
/** Fields with their longest lengths. */
const reportedTexts = { type: 100, status: 100, reason: 100, message: messageLimit, lastTransitionTime: 100 };

/** The conditions for the composite's status, each field as a bounded text. */
export function reportedConditions(observed: Json | undefined): readonly Json[] {
  return conditionsOf(observed)
    .slice(0, conditionLimit)
    .map((condition) => {
      const texts = Object.entries(reportedTexts).flatMap(([name, limit]) => {
        const text = textAt(condition, name);
        return text === undefined ? [] : [[name, plainText(text, limit)] as const];
      });
      const number = numberAt(condition, "observedGeneration");
      return {
        ...Object.fromEntries(texts),
        ...(number === undefined ? {} : { observedGeneration: number }),
      };
    });
}

function timeAt(observed: Json | undefined, ...path: readonly string[]): number | undefined {
  const text = textAt(observed, ...path);
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
