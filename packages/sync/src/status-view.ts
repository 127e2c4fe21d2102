/** View of the generations that the schema of a bound version lets a claim's status show. Read once for each version. */
import { observedGenerationAnnotation } from "@klutch/api";
import { isRecord, type ObjectMeta, recordAt, valueAt } from "@klutch/kube-core";
import { Effort, EffortError, type JsonSchema, problemsOf, SchemaReader } from "@klutch/schema";
import { freshSince } from "./status-conditions.ts";

/** A field of a condition that a schema may not have. What it has not is not written: a server would prune it, and it would be written again. */
export type ConditionField = (typeof conditionFields)[number];

const conditionFields = ["lastTransitionTime", "message", "observedGeneration", "reason"] as const;

/** Places of generations in a status. JSON, so that it can be compared. */
export interface StatusView {
  /** `status.observedGeneration` is an integer. */
  readonly hasNumber: boolean;
  /** Fields of conditions besides `type` and `status`; undefined where `status.conditions` is no list of conditions. */
  readonly conditions: readonly ConditionField[] | undefined;
  /** A condition `Ready` may say Unknown or False, with a reason and a message of ours. */
  readonly mayBeUnknown: boolean;
  /** Without the subresource each write of a status raises the generation: no number is written, and none is asked. */
  readonly isSubresource: boolean;
  /** The API's owner says that the numbers and echoes of its statuses mean nothing. */
  readonly isIgnored: boolean;
  /** Path of the field with the name of the object's Secret. Default: `status.managed.credentials.name`, as function-klutch writes it. */
  readonly secretNameField?: string | undefined;
  /** Type of the condition that stands for `Ready`. Default: none does. */
  readonly readyCondition?: string | undefined;
}

/** Facts of a kind that the annotations of its export tell. */
export type SaidOfKind = Pick<StatusView, "isIgnored" | "secretNameField" | "readyCondition">;

/** View of a status that is copied unchanged. */
export const plainView: StatusView = {
  hasNumber: false,
  conditions: undefined,
  mayBeUnknown: false,
  isSubresource: true,
  isIgnored: false,
};

/** Maximum length of a message of ours, in characters. */
export const messageLimit = 1_024;

/** Returns a message that a condition takes: cut at the limit. */
export function shortened(text: string): string {
  if (text.length <= messageLimit) return text;
  // By characters: half of one is no text.
  return `${Array.from(text)
    .slice(0, messageLimit - 1)
    .join("")}…`;
}

/** The view of a version. `schema` is its `openAPIV3Schema`, a stranger's: what it does not say clearly it does not say. */
export function statusViewOf(
  schema: JsonSchema,
  {
    isSubresource,
    isIgnored,
    secretNameField,
    readyCondition,
  }: SaidOfKind & Pick<StatusView, "isSubresource">,
): StatusView {
  const status = recordAt(schema, "properties", "status");
  const hasNumber = valueAt(status, "properties", "observedGeneration", "type") === "integer";
  const conditions = conditionsIn(status);
  return {
    hasNumber,
    conditions,
    mayBeUnknown: conditions !== undefined && takesUnknown(status, conditions),
    isSubresource,
    isIgnored,
    ...(secretNameField === undefined ? {} : { secretNameField }),
    ...(readyCondition === undefined ? {} : { readyCondition }),
  };
}

/** Returns true if the whole status is copied unchanged. */
export function isPlain({ hasNumber, conditions }: StatusView): boolean {
  return !hasNumber && conditions === undefined;
}

/** Returns true if the annotations of an export say that generations mean nothing. */
export function ignoresGenerations({ annotations }: Pick<ObjectMeta, "annotations">): boolean {
  return annotations?.[observedGenerationAnnotation] === "ignore";
}

function conditionsIn(status: JsonSchema): readonly ConditionField[] | undefined {
  const list = recordAt(status, "properties", "conditions");
  const fields = recordAt(list, "items", "properties");
  const typeOf = (name: string): unknown => valueAt(fields, name, "type");
  if (list["type"] !== "array" || typeOf("type") !== "string" || typeOf("status") !== "string")
    return undefined;
  return conditionFields.filter(
    (name) => typeOf(name) === (name === "observedGeneration" ? "integer" : "string"),
  );
}

/** A status that the server refuses is never shown, so what we make is tried here. A `Ready` that may be Unknown may be False, too. */
function takesUnknown(status: JsonSchema, fields: readonly ConditionField[]): boolean {
  const tried: Readonly<Record<ConditionField, unknown>> = {
    lastTransitionTime: "2026-01-02T03:04:05Z",
    message: "m".repeat(messageLimit),
    observedGeneration: 0,
    reason: "SpecNotObserved",
  };
  const said = takenFields(fields, tried);
  const list = recordAt(status, "properties", "conditions");
  const takes = (value: string): boolean => isTaken(list, [{ type: "Ready", status: value, ...said }]);
  return takes("Unknown") && takes("False");
}

/** The words that the schema of a condition takes; a server would prune the others. */
export function takenFields(
  fields: readonly ConditionField[],
  words: Readonly<Partial<Record<ConditionField, unknown>>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap((field) => (words[field] === undefined ? [] : [[field, words[field]]])),
  );
}

const freshReady: Readonly<
  Record<"type" | "status" | Exclude<ConditionField, "observedGeneration">, string>
> = {
  type: "Ready",
  status: "Unknown",
  reason: "SpecNotSent",
  message:
    "no konnector has looked at this claim yet. If this lasts for a minute, ask the operator of this cluster whether the konnector runs",
  lastTransitionTime: freshSince,
};

/**
 * The version with a default for its status, so that a fresh claim says that no one has seen it, and is not taken for one that is finished:
 * also while no konnector runs, and without a write. It has `observedGeneration: -1` and `Ready` Unknown, as far as the schema has them.
 * As it is, where the schema has neither, has a default for the status or could refuse this one: then the CRD itself would be refused.
 */
export function withStatusDefault(
  version: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const schema = recordAt(version, "schema", "openAPIV3Schema");
  const status = recordAt(schema, "properties", "status");
  if (!isRecord(recordAt(version, "subresources")["status"]) || status["default"] !== undefined)
    return version;
  const fresh = freshStatuses(schema, status).find((one) => isTaken(status, one));
  if (fresh === undefined) return version;
  const properties = { ...recordAt(schema, "properties"), status: { ...status, default: fresh } };
  return {
    ...version,
    schema: { ...recordAt(version, "schema"), openAPIV3Schema: { ...schema, properties } },
  };
}

/** Default statuses that the schema can have, the one that says most first. */
function freshStatuses(schema: JsonSchema, status: JsonSchema): readonly object[] {
  const number = recordAt(status, "properties", "observedGeneration");
  const list = recordAt(status, "properties", "conditions");
  const hasNumber =
    number["type"] === "integer" && number["default"] === undefined && !mayRefuse(schema, status, number);
  const fields = conditionsIn(status);
  const saysWhy = ["lastTransitionTime", "message", "reason"] as const;
  const hasReady =
    fields !== undefined &&
    saysWhy.every((field) => fields.includes(field)) &&
    list["default"] === undefined &&
    takesUnknown(status, fields) &&
    !mayRefuse(schema, status, list, recordAt(list, "items"));
  const counted = hasNumber ? { observedGeneration: -1 } : {};
  return [...(hasReady ? [{ ...counted, conditions: [freshReady] }] : []), ...(hasNumber ? [counted] : [])];
}

/** Rules in CEL and combinations of schemas are not evaluated here. Those of the whole object count when they speak of the status. */
function mayRefuse(schema: JsonSchema, ...inner: readonly JsonSchema[]): boolean {
  const rules = ["x-kubernetes-validations", "allOf", "anyOf", "oneOf", "not"];
  return (
    inner.some((part) => rules.some((name) => part[name] !== undefined)) ||
    rules.some((name) => (JSON.stringify(schema[name]) ?? "").includes("status"))
  );
}

/** Steps for one small value. */
const trialSteps = 10_000;

function isTaken(schema: JsonSchema, value: unknown): boolean {
  try {
    return problemsOf(schema, value, "", new SchemaReader(new Effort(trialSteps))).length === 0;
  } catch (error) {
    if (error instanceof EffortError) return false;
    throw error;
  }
}
