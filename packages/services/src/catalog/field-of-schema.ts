/**
 * Converts a JSON Schema of a catalog to the schema of a table's field. The result never refuses a value of its type that the
 * JSON Schema accepts; each keyword that it cannot keep is a warning, because then only the broker checks it.
 */
import { isRecord, listAt, recordAt } from "@klutch/kube-core";
import { isPattern } from "@klutch/schema";
import type { Warn } from "./notes.ts";
import { boundsOf, double, type Keywords, sizesOf } from "./keywords.ts";
import { withoutMarkup } from "./plain-text.ts";
import { resolved } from "./references.ts";
import type { SchemaPlace } from "./schema-place.ts";

/** A field's schema in the words of a table. */
export type FieldSchema = Readonly<Record<string, unknown>>;

/** State of the conversion of one schema document. */
export interface Conversion {
  readonly root: unknown;
  readonly warn: Warn;
  /** Counts the schemas that are still converted; shared by the whole document. */
  readonly budget: { left: number };
}

const deepest = 10;
const mostChoices = 200;
const longestChoice = 200;
const propertyName = /^[-A-Za-z0-9_.$]{1,100}$/;
const checkedByBroker = "this keyword has no counterpart in a table; only the broker checks it";

/** Keywords that restrict values and that no field of a table has. */
const unchecked: readonly string[] = [
  ..."allOf anyOf oneOf not if patternProperties dependencies dependentRequired dependentSchemas".split(" "),
  ..."propertyNames contains uniqueItems additionalItems prefixItems unevaluatedProperties".split(" "),
  ..."unevaluatedItems format minProperties maxProperties".split(" "),
];

/** Warns of the keywords that no table keeps. */
export function warnOfUnchecked(schema: Keywords, field: string, warn: Warn): void {
  for (const keyword of unchecked)
    if (schema[keyword] !== undefined) warn(`${field}.${keyword}`, schema[keyword], checkedByBroker);
}

/** Returns the field; undefined after a warning when a table cannot describe it. */
export function fieldOfSchema(value: unknown, place: SchemaPlace, to: Conversion): FieldSchema | undefined {
  const { field, depth } = place;
  const { warn, root, budget } = to;
  const leave = (reason: string): undefined => warn(field, value, `${reason}; it is left out`);
  if (!isRecord(value)) return leave("expected a schema with a type");
  if (depth > deepest) return leave(`its schema has more than ${deepest} levels`);
  if (budget.left-- <= 0) return leave("the schema has too many parts");
  const found = resolved(root, value, { ...place, warn });
  if (found === undefined) return undefined;
  const { schema, refs } = found;
  const type = typeOf(schema, field, warn);
  if (type === undefined) return undefined;
  warnOfUnchecked(schema, field, warn);
  const inner = { ...place, refs, depth: depth + 1 };
  const about = withoutMarkup(schema["description"], 300) || withoutMarkup(schema["title"], 300);
  const own = keywordsOf(type, schema, inner, to);
  return own === undefined ? undefined : { type, ...(about === "" ? {} : { about }), ...own };
}

function keywordsOf(
  type: string,
  schema: Keywords,
  place: SchemaPlace,
  to: Conversion,
): FieldSchema | undefined {
  switch (type) {
    case "integer":
    case "number":
      return withChoices(type, schema, place, to, boundsOf(type, schema, place, to.warn));
    case "string":
      return withChoices(type, schema, place, to, textKeywords(schema, place, to));
    case "boolean":
      return booleanKeywords(schema, place, to);
    case "array":
      return listKeywords(schema, place, to);
    case "object":
      return objectKeywords(schema, place, to);
    default:
      for (const keyword of ["enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength"])
        if (schema[keyword] !== undefined)
          to.warn(`${place.field}.${keyword}`, schema[keyword], checkedByBroker);
      return {};
  }
}

/** The one type of a table for what a JSON Schema allows. */
function typeOf(schema: Keywords, field: string, warn: Warn): string | undefined {
  const { type } = schema;
  const all: readonly unknown[] = Array.isArray(type) ? type : [type ?? impliedType(schema)];
  const named = all.filter((one) => one !== "null");
  if (Array.isArray(type) && type.includes("null"))
    warn(`${field}.type`, "null", "a claim cannot hold null; leaving the field out takes its place");
  const [first, ...others] = [...new Set(named)].toSorted((one, other) =>
    String(one).localeCompare(String(other)),
  );
  const both = others.length === 1 && first === "integer" ? others[0] : undefined;
  if (both === "string") return "integer or string";
  if (both === "number") return "number";
  const known = ["array", "boolean", "integer", "number", "object", "string"].find((one) => one === first);
  if (others.length === 0 && known !== undefined) return known;
  warn(`${field}.type`, type, "expected one type of JSON Schema; it is left out");
  return undefined;
}

function impliedType(schema: Keywords): string | undefined {
  const { enum: choices, const: only, properties } = schema;
  const values = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  if (values.length > 0 && values.every((one) => typeof one === "string")) return "string";
  if (values.length > 0 && values.every((one) => Number.isSafeInteger(one))) return "integer";
  return isRecord(properties) ? "object" : undefined;
}

/** Adds `enum`, of values of the type only: others never fit. */
function withChoices(
  type: string,
  schema: Keywords,
  { field }: SchemaPlace,
  { warn }: Conversion,
  rest: FieldSchema | undefined,
): FieldSchema | undefined {
  const { enum: choices, const: only } = schema;
  const values = only !== undefined ? [only] : Array.isArray(choices) ? choices : undefined;
  if (values === undefined || rest === undefined) return rest;
  const fitting = [...new Set(values.filter((one) => isOfType(type, one)))];
  const leave = (reason: string): undefined => warn(`${field}.enum`, values, reason);
  if (fitting.length === 0) return leave(`no value is of type ${type}; it is left out`);
  const isLong = fitting.some((one) => typeof one === "string" && one.length > longestChoice);
  if (fitting.length > mostChoices || isLong) {
    warn(`${field}.enum`, values, "too many or too long values for a table; only the broker checks them");
    return rest;
  }
  if (fitting.some((one) => typeof one === "string" && /\p{C}/u.test(one))) {
    warn(`${field}.enum`, values, "a value has control characters; only the broker checks them");
    return rest;
  }
  return type === "number" ? withNumbers(rest, fitting.map(Number)) : { ...rest, enum: fitting };
}

/** Adds a rule: the API server takes 1.5 for the 1 of an enumeration. */
function withNumbers(rest: FieldSchema, numbers: readonly number[]): FieldSchema {
  const shown = numbers.length > 20 ? `${numbers.length} values` : numbers.join(", ");
  const rule = { rule: `self in [${numbers.map(double).join(", ")}]`, message: `Must be one of ${shown}` };
  return { ...rest, rules: [...listAt(rest, "rules"), rule] };
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "string") return typeof value === "string";
  return typeof value === "number" && (type === "number" || Number.isSafeInteger(value));
}

function textKeywords(schema: Keywords, place: SchemaPlace, { warn }: Conversion): FieldSchema {
  const { pattern, maxLength } = schema;
  const isKept = typeof pattern === "string" && isPattern(pattern) && !/\p{C}|\\[sS]/u.test(pattern);
  if (pattern !== undefined && !isKept)
    warn(
      `${place.field}.pattern`,
      pattern,
      "the API server may read it differently; only the broker checks it",
    );
  return {
    ...(isKept ? { pattern } : {}),
    ...(typeof maxLength === "number" && Number.isSafeInteger(maxLength) && maxLength >= 0
      ? { maxLength }
      : {}),
    ...sizesOf(schema, ["minLength", undefined], place, warn),
  };
}

function booleanKeywords(schema: Keywords, { field }: SchemaPlace, { warn }: Conversion): FieldSchema {
  const { enum: choices, const: only } = schema;
  const values = only !== undefined ? [only] : Array.isArray(choices) ? choices : [true, false];
  const [one, ...others] = [true, false].filter((each) => values.includes(each));
  if (one !== undefined && others.length === 0)
    return { rules: [{ rule: `self == ${one}`, message: `Must be ${one}` }] };
  if (one === undefined) warn(`${field}.enum`, values, checkedByBroker);
  return {};
}

function listKeywords(schema: Keywords, place: SchemaPlace, to: Conversion): FieldSchema | undefined {
  const { field, lists } = place;
  const items = fieldOfSchema(schema["items"], { ...place, field: `${field}.items`, lists: lists + 1 }, to);
  return items === undefined
    ? undefined
    : { items, ...sizesOf(schema, ["minItems", "maxItems"], place, to.warn) };
}

function objectKeywords(schema: Keywords, place: SchemaPlace, to: Conversion): FieldSchema {
  const { additionalProperties: more } = schema;
  let isFree = more !== false;
  if (isRecord(more) && Object.keys(more).length > 0)
    to.warn(`${place.field}.additionalProperties`, more, checkedByBroker);
  const properties = Object.entries(recordAt(schema["properties"])).flatMap(([name, value]) => {
    const field = `${place.field}.${name}`;
    const isUsable = propertyName.test(name) && name !== "__proto__";
    if (!isUsable) to.warn(field, name, "no name of a table's field; its value is passed on unchecked");
    const found = isUsable ? fieldOfSchema(value, { ...place, field }, to) : undefined;
    if (found === undefined) isFree = true;
    return found === undefined ? [] : [[name, found] as const];
  });
  const names = new Set(properties.map(([name]) => name));
  const wanted = listAt(schema, "required").filter((name) => typeof name === "string");
  const required = [...new Set(wanted.filter((name) => names.has(name)))];
  for (const name of wanted)
    if (!names.has(name)) to.warn(`${place.field}.required`, name, "only the broker checks that it is set");
  return {
    ...(properties.length > 0 || !isFree ? { properties: Object.fromEntries(properties) } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(isFree ? { free: true } : {}),
  };
}
