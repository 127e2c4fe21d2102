/** Checks values against structural schemas, as far as that is possible without evaluating CEL. */
import type { JsonSchema, Schema } from "./schema.ts";
import { SchemaReader } from "./reader.ts";
import { type Limit, limits, record, type SchemaView } from "./view.ts";

/** One fault of a value. */
export interface Problem {
  /** Path of the field, as `spec.claims[0].version`; empty for the value itself. */
  readonly field: string;
  /** Present value as shortened JSON; not for values that hold secrets. */
  readonly value: string;
  /** Expected value, to be read after "expected". */
  readonly expected: string;
}

/**
 * Lists all faults of `value` in the order of the schema; empty if there are none. Unknown fields are no
 * fault: an API server prunes them. Not checked: CEL rules, `anyOf`, `oneOf`, `allOf`, `not`, `multipleOf`, exclusive bounds. Defaults are not filled in, so a
 * required field that has a default must be present. Throws `EffortError` when the reader's effort is spent.
 */
export function problemsOf(
  schema: JsonSchema,
  value: unknown,
  field = "",
  reader: SchemaReader = new SchemaReader(),
): readonly Problem[] {
  reader.effort.spend(1);
  const view = reader.viewOf(schema);
  if (value === null && view.nullable) return [];
  const wanted = wantedType(view);
  if (wanted !== undefined && !hasType(wanted, value)) return [problem(field, value, article(wanted))];
  return [...valueProblems(schema, value, field, reader), ...contentProblems(view, value, field, reader)];
}

/** Returns true if a value is of the schema's type; as thorough as `problemsOf`. */
export function accepts<T>(schema: Schema<T>, value: unknown): value is T {
  return problemsOf(schema.json, value).length === 0;
}

/** Words a fault in one line. */
export function describeProblem({ field, value, expected }: Problem): string {
  return `${field === "" ? "the value" : field}: is ${value}, expected ${expected}`;
}

function wantedType(view: SchemaView): string | undefined {
  return view.integerOrString ? "integer or string" : view.type;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return record(value) !== undefined;
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "integer or string":
      return typeof value === "string" || Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function valueProblems(
  schema: JsonSchema,
  value: unknown,
  field: string,
  reader: SchemaReader,
): readonly Problem[] {
  const view = reader.viewOf(schema);
  const expected: string[] = [];
  if (view.enum !== undefined && !reader.isOneOf(schema, value))
    expected.push(`one of ${listed(view.enum.map((item) => JSON.stringify(item)))}`);
  if (typeof value === "string") {
    if (view.pattern !== undefined && !reader.matches(view.pattern, value))
      expected.push(`a string that matches ${view.pattern}`);
    if (view.format === "date-time" && !isDateTime(value)) expected.push("an RFC 3339 time");
  }
  const sizes = sizesOf(value);
  for (const limit of limits) {
    const bound = view.limits[limit];
    const size = sizes[limit];
    if (bound === undefined || size === undefined) continue;
    if (isLower(limit) ? size < bound : size > bound) expected.push(`${limit} ${bound}`);
  }
  if (Array.isArray(value) && hasDuplicates(view, value, reader)) expected.push(uniqueText(view));
  return expected.map((text) => problem(field, value, text));
}

/** Maximum number of values of a set to name. */
const namedLimit = 20;

function listed(texts: readonly string[]): string {
  const rest = texts.length - namedLimit;
  return texts.slice(0, namedLimit).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Returns true for a lower bound. */
export function isLower(limit: Limit): boolean {
  return limit.startsWith("min");
}

function sizesOf(value: unknown): Readonly<Partial<Record<Limit, number>>> {
  if (typeof value === "number") return { minimum: value, maximum: value };
  if (typeof value === "string") {
    const length = Array.from(value).length;
    return { minLength: length, maxLength: length };
  }
  if (Array.isArray(value)) return { minItems: value.length, maxItems: value.length };
  const fields = record(value);
  if (fields === undefined) return {};
  const count = Object.keys(fields).length;
  return { minProperties: count, maxProperties: count };
}

function contentProblems(
  view: SchemaView,
  value: unknown,
  field: string,
  reader: SchemaReader,
): readonly Problem[] {
  const { items } = view;
  if (Array.isArray(value))
    return items === undefined
      ? []
      : value.flatMap((item: unknown, index) => problemsOf(items, item, `${field}[${index}]`, reader));
  const fields = record(value);
  if (fields === undefined) return [];
  reader.effort.spend(view.required.length / 10);
  const missing = view.required
    .filter((name) => fields[name] === undefined)
    .map((name): Problem => ({ field: join(field, name), value: "missing", expected: "it to be set" }));
  const wrong = Object.entries(fields).flatMap(([name, item]) => {
    const schema = view.properties.get(name) ?? view.additionalProperties;
    return schema === undefined || item === undefined
      ? []
      : problemsOf(schema, item, join(field, name), reader);
  });
  return [...missing, ...wrong];
}

function join(field: string, name: string): string {
  return field === "" ? name : `${field}.${name}`;
}

function hasDuplicates(view: SchemaView, items: readonly unknown[], reader: SchemaReader): boolean {
  if (view.listType !== "set" && view.listType !== "map") return false;
  const keys = items.map((item) => {
    const fields = record(item);
    const key =
      view.listType === "map" && fields !== undefined
        ? JSON.stringify(view.mapKeys.map((name) => fields[name] ?? null))
        : // What did not come from JSON may be undefined, which has no text.
          (JSON.stringify(item) ?? "undefined");
    reader.effort.spend(key.length / 100);
    return key;
  });
  return new Set(keys).size !== keys.length;
}

function uniqueText(view: SchemaView): string {
  return view.listType === "map" ? `items that differ in ${view.mapKeys.join(", ")}` : "items that differ";
}

function isDateTime(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}

function problem(field: string, value: unknown, expected: string): Problem {
  return { field, value: valueText(value), expected };
}

/** A value as shortened JSON, as problems say it. */
export function valueText(value: unknown): string {
  const json = value === undefined ? "nothing" : JSON.stringify(value);
  return json.length > 60 ? `${json.slice(0, 57)}…` : json;
}
