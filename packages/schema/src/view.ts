/** Reads the keywords of a structural schema that may come from anywhere. Unknown and malformed keywords are left out. */
import type { JsonSchema } from "./schema.ts";

/** The keywords that decide which values a schema takes. CEL rules, `anyOf`, `oneOf`, `allOf` and `not` are not among them. */
export interface SchemaView {
  readonly type: string | undefined;
  readonly nullable: boolean;
  readonly integerOrString: boolean;
  readonly preservesUnknown: boolean;
  readonly enum: readonly unknown[] | undefined;
  readonly pattern: string | undefined;
  readonly format: string | undefined;
  readonly limits: Readonly<Partial<Record<Limit, number>>>;
  readonly properties: ReadonlyMap<string, JsonSchema>;
  readonly required: readonly string[];
  readonly additionalProperties: JsonSchema | undefined;
  readonly items: JsonSchema | undefined;
  readonly listType: string | undefined;
  readonly mapKeys: readonly string[];
  readonly hasDefault: boolean;
  readonly default: unknown;
  /** Texts of the CEL rules; this package does not evaluate them. */
  readonly rules: readonly string[];
}

/** A keyword with a bound. */
export type Limit =
  | "minLength"
  | "maxLength"
  | "minItems"
  | "maxItems"
  | "minProperties"
  | "maxProperties"
  | "minimum"
  | "maximum";

/** All bounds; those that begin with `min` are lower ones. */
export const limits: readonly Limit[] = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minimum",
  "maximum",
];

/** The keywords of a schema. */
export function viewOf(json: JsonSchema): SchemaView {
  return {
    type: text(json["type"]),
    nullable: json["nullable"] === true,
    integerOrString: json["x-kubernetes-int-or-string"] === true,
    preservesUnknown: json["x-kubernetes-preserve-unknown-fields"] === true,
    enum: array(json["enum"]),
    pattern: text(json["pattern"]),
    format: text(json["format"]),
    limits: limitsOf(json),
    properties: new Map(
      Object.entries(record(json["properties"]) ?? {}).flatMap(([name, value]) => {
        const schema = record(value);
        return schema === undefined ? [] : [[name, schema] as const];
      }),
    ),
    required: texts(json["required"]),
    additionalProperties: json["additionalProperties"] === true ? {} : record(json["additionalProperties"]),
    items: record(json["items"]),
    listType: text(json["x-kubernetes-list-type"]),
    mapKeys: texts(json["x-kubernetes-list-map-keys"]),
    hasDefault: "default" in json,
    default: json["default"],
    rules: (array(json["x-kubernetes-validations"]) ?? []).flatMap((rule) => texts([record(rule)?.["rule"]])),
  };
}

function limitsOf(json: JsonSchema): SchemaView["limits"] {
  return Object.fromEntries(
    limits.flatMap((limit) => {
      const value = json[limit];
      return typeof value === "number" ? [[limit, value] as const] : [];
    }),
  );
}

/** A JSON object as a record, anything else as undefined. */
export function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}

/** Returns true if `value` is a JSON object. The twin of kube-core's, which this package may not import. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function array(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function texts(value: unknown): readonly string[] {
  return (array(value) ?? []).filter((item) => typeof item === "string");
}
