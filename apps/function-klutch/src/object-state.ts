/**
 * Reads the state of an Object of provider-kubernetes as `ManagedState`, and the values that the claim shows. Provider and operator are
 * untrusted: only a bounded part of their statements is used, and only about the requested object.
 */
import { plainText, wasReadyAnnotation } from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import { conditionsOf, isRecord, numberAt, textAt, valueAt } from "@klutch/kube-core";
import type { Reported as ReportedField } from "@klutch/services";
import { type ManagedState, managedStateOf, type ReportedCondition } from "./managed-state.ts";
import { manifestIdentity } from "./manifest-identity.ts";
import { withValue } from "./object-manifest.ts";

type Reported = readonly ReportedField[];

/**
 * Reads the state. `observed`: the Object, if it exists; `wanted`: the manifest to reach. provider-kubernetes reports only whether its query
 * holds. The operator gives the reason: in a condition `Ready` of its object, else in the reported fields.
 */
export function objectStateOf(
  observed: Json | undefined,
  wanted: Json,
  reported: Reported = [],
): ManagedState {
  const state = managedStateOf(observed, wanted);
  const wasReady =
    state.wasReady || textAt(observed, "metadata", "annotations", wasReadyAnnotation) === "true";
  const { ready } = state;
  if (ready?.status !== "False" || !["Unavailable", "Creating"].includes(ready.reason))
    return { ...state, wasReady };
  const made = madeObject(observed, wanted);
  const said = operatorsWords(made) ?? { reason: "", message: scalarWords(made, reported) };
  const message = said.message === "" ? ready.message : said.message;
  return {
    ...state,
    wasReady,
    ready: { status: "False", reason: reasonOf(said.reason, wasReady, made), message },
  };
}

/** Returns the values that the claim's status shows; nothing while the object does not exist. */
export function reportedValues(observed: Json | undefined, wanted: Json, reported: Reported = []): Json {
  return valuesIn(madeObject(observed, wanted), reported);
}

/** Returns the values of an object that a claim's status shows, each bounded. */
export function valuesIn(made: Json | undefined, reported: Reported = []): Json {
  let values: Json = {};
  for (const { from, to } of reported) {
    const value = bounded(valueAt(made, ...from.split(".")), 5);
    if (value !== undefined) values = withValue(values, to.split("."), value);
  }
  return values;
}

/** The operator's object as provider-kubernetes saw it last, when it is the one that is wanted. */
function madeObject(observed: Json | undefined, wanted: Json): Json | undefined {
  const made = valueAt(observed, "status", "atProvider", "manifest");
  const isSame =
    manifestIdentity(made) === manifestIdentity(valueAt(wanted, "spec", "forProvider", "manifest"));
  return isRecord(made) && isSame ? made : undefined;
}

/** Returns the operator's reason and message; undefined unless it reports not ready. */
function operatorsWords(made: Json | undefined): Pick<ReportedCondition, "reason" | "message"> | undefined {
  const condition = conditionsOf(made).find(({ type, status }) => type === "Ready" && status === "False");
  if (condition === undefined) return undefined;
  return { reason: condition.reason ?? "", message: plainText(condition.message ?? "", textLimit) };
}

/** `clusterStatus is Progressing, readyReplicas is 0` */
function scalarWords(made: Json | undefined, reported: Reported): string {
  const words = reported.flatMap(({ from, to }) => {
    const value = valueAt(made, ...from.split("."));
    const isScalar = ["string", "number", "boolean"].includes(typeof value);
    return isScalar ? [`${to} is ${plainText(String(value), 100)}`] : [];
  });
  return words.slice(0, 5).join(", ");
}

function reasonOf(said: string, wasReady: boolean, made: Json | undefined): string {
  if (/(Failed|Failure|Error)$/.test(said)) return "Failed";
  if (!wasReady) return "Creating";
  const seen = numberAt(made, "status", "observedGeneration");
  const generation = numberAt(made, "metadata", "generation");
  return seen !== undefined && generation !== undefined && seen < generation ? "Changing" : "Unavailable";
}

const textLimit = 800;
const itemLimit = 50;

/** Copies a value with a bounded size and without control characters; undefined if it is too deep. */
function bounded(value: unknown, depth: number): unknown {
  if (typeof value === "string") return plainText(value, textLimit);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value))
    return value
      .slice(0, itemLimit)
      .map((item: unknown) => bounded(item, depth - 1))
      .filter((item) => item !== undefined);
  if (!isRecord(value)) return undefined;
  const fields = Object.entries(value)
    .slice(0, itemLimit)
    .filter(([name]) => /^[A-Za-z][-A-Za-z0-9_]{0,62}$/.test(name))
    .map(([name, field]) => [name, bounded(field, depth - 1)] as const)
    .filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields);
}
