/**
 * Structural schemas (apiextensions): pruning, defaults and validation. Left out: CEL rules, `anyOf`, `oneOf`, `allOf`, `not`,
 * `format`, `multipleOf`, embedded resources' own metadata, and ratcheting of what was invalid before.
 */
import { jsonEqual } from "@klutch/kube-core";
import { at, isList, isObject, type Json, type JsonObject, objectAt, textAt, textsAt } from "./json.ts";

const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
const keepsUnknown = "x-kubernetes-preserve-unknown-fields";

/** The object as the server decodes it: unknown fields and senseless nulls dropped, defaults filled in. Metadata is left alone. */
export function coerce(object: JsonObject, schema: JsonObject): JsonObject {
  return withContent(object, (content) => withDefaults(dropNulls(prune(content, schema), schema), schema));
}

/** Only the defaults: what the server does to the outcome of an apply, which may thus keep a null that validation refuses. */
export function fillDefaults(object: JsonObject, schema: JsonObject): JsonObject {
  return withContent(object, (content) => withDefaults(content, schema));
}

function withContent(object: JsonObject, change: (content: JsonObject) => Json): JsonObject {
  const entries = Object.entries(object);
  const envelope = entries.filter(([name]) => metaFields.has(name));
  const content = change(Object.fromEntries(entries.filter(([name]) => !metaFields.has(name))));
  return { ...Object.fromEntries(envelope), ...(isObject(content) ? content : {}) };
}

function child(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const properties = at(schema, "properties", name);
  if (isObject(properties)) return properties;
  const rest = schema?.["additionalProperties"];
  return isObject(rest) ? rest : undefined;
}

function itemsOf(schema: JsonObject | undefined): JsonObject | undefined {
  const items = schema?.["items"];
  return isObject(items) ? items : undefined;
}

function prune(value: Json, schema: JsonObject | undefined): Json {
  if (schema?.[keepsUnknown] === true) return pruneKnown(value, schema);
  if (isList(value)) return value.map((item) => prune(item, itemsOf(schema)));
  if (!isObject(value)) return value;
  const isEmbedded = schema?.["x-kubernetes-embedded-resource"] === true;
  const kept: Record<string, Json> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = child(schema, name);
    if (isEmbedded && metaFields.has(name)) kept[name] = field;
    else if (known !== undefined || schema?.["additionalProperties"] === true)
      kept[name] = prune(field, known);
  }
  return kept;
}

/** Below a value that keeps unknown fields, those with a schema are pruned all the same. */
function pruneKnown(value: Json, schema: JsonObject | undefined): Json {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item) => pruneKnown(item, itemsOf(schema)));
  if (!isObject(value)) return value;
  const kept: Record<string, Json> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = child(schema, name);
    kept[name] = known === undefined ? field : prune(field, known);
  }
  return kept;
}

function dropNulls(value: Json, schema: JsonObject | undefined): Json {
  if (isList(value)) return value.map((item) => dropNulls(item, itemsOf(schema)));
  if (!isObject(value)) return value;
  const kept: Record<string, Json> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = child(schema, name);
    const isSenseless = isForbiddenNull(field, known) && known?.["default"] === undefined;
    if (!isSenseless) kept[name] = dropNulls(field, known);
  }
  return kept;
}

function isForbiddenNull(value: Json | undefined, schema: JsonObject | undefined): boolean {
  return value === null && schema !== undefined && schema["nullable"] !== true;
}

function withDefaults(value: Json, schema: JsonObject | undefined): Json {
  if (schema === undefined) return value;
  if (isList(value)) {
    const items = itemsOf(schema);
    return value.map((item) => {
      const filled = isForbiddenNull(item, items) ? (items?.["default"] ?? null) : item;
      return withDefaults(filled, items);
    });
  }
  if (!isObject(value)) return value;
  const filled: Record<string, Json> = { ...value };
  for (const [name, property] of Object.entries(objectAt(schema, "properties"))) {
    const fallback = at(property, "default");
    if (fallback === undefined || fallback === null || !isObject(property)) continue;
    if (!Object.hasOwn(filled, name) || isForbiddenNull(filled[name], property)) filled[name] = fallback;
  }
  for (const [name, field] of Object.entries(filled)) {
    const known = child(schema, name);
    const fallback = known?.["default"];
    const replaced = isForbiddenNull(field, known) && fallback !== undefined ? fallback : field;
    filled[name] = withDefaults(replaced, known);
  }
  return filled;
}

/** Everything that is wrong with a value; empty when it may be stored. */
export function problemsOf(value: Json, schema: JsonObject, path = ""): readonly string[] {
  if (value === null && schema["nullable"] === true) return [];
  const type = textAt(schema, "type");
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  if (
    isIntOrString
      ? !(typeof value === "string" || Number.isInteger(value))
      : type !== "" && !hasType(type, value)
  ) {
    const wanted = isIntOrString ? "integer,string" : type;
    return [`${path}: Invalid value: ${JSON.stringify(value)}: ${path} must be of type ${wanted}`];
  }
  const problems = [...scalarProblems(value, schema)].map((text) => `${path}: Invalid value: ${text}`);
  if (isList(value)) problems.push(...listProblems(value, schema, path));
  if (isObject(value)) problems.push(...objectProblems(value, schema, path));
  return problems;
}

function hasType(type: string, value: Json): boolean {
  if (type === "object") return isObject(value);
  if (type === "array") return isList(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function numberAt(schema: JsonObject, name: string): number | undefined {
  const limit = schema[name];
  return typeof limit === "number" ? limit : undefined;
}

function* scalarProblems(value: Json, schema: JsonObject): Generator<string> {
  const allowed = schema["enum"];
  if (isList(allowed) && !allowed.some((item) => jsonEqual(item, value))) yield "unsupported value";
  if (typeof value === "number") {
    const [low, high] = [numberAt(schema, "minimum"), numberAt(schema, "maximum")];
    if (low !== undefined && (schema["exclusiveMinimum"] === true ? value <= low : value < low))
      yield "too small";
    if (high !== undefined && (schema["exclusiveMaximum"] === true ? value >= high : value > high))
      yield "too big";
  }
  if (typeof value === "string") {
    const length = Array.from(value).length;
    if (length < (numberAt(schema, "minLength") ?? 0)) yield "too short";
    if (length > (numberAt(schema, "maxLength") ?? Infinity)) yield "too long";
    const pattern = textAt(schema, "pattern");
    if (pattern !== "" && !new RegExp(pattern, "u").test(value)) yield `should match ${pattern}`;
  }
}

function listProblems(items: readonly Json[], schema: JsonObject, path: string): string[] {
  const problems: string[] = [];
  if (items.length < (numberAt(schema, "minItems") ?? 0)) problems.push(`${path}: too few items`);
  if (items.length > (numberAt(schema, "maxItems") ?? Infinity)) problems.push(`${path}: too many items`);
  const itemSchema = itemsOf(schema);
  if (itemSchema !== undefined) {
    for (const [index, item] of items.entries())
      problems.push(...problemsOf(item, itemSchema, `${path}[${index}]`));
  }
  const kind = textAt(schema, "x-kubernetes-list-type");
  const keys = textsAt(schema, "x-kubernetes-list-map-keys");
  const identities = items.map((item) =>
    JSON.stringify(kind === "map" ? keys.map((key) => at(item, key) ?? null) : item),
  );
  if ((kind === "map" || kind === "set") && new Set(identities).size < items.length) {
    problems.push(`${path}: Duplicate value`);
  }
  return problems;
}

function objectProblems(object: JsonObject, schema: JsonObject, path: string): string[] {
  const problems: string[] = [];
  const inner = (name: string): string => (path === "" ? name : `${path}.${name}`);
  for (const name of textsAt(schema, "required")) {
    if (!Object.hasOwn(object, name)) problems.push(`${inner(name)}: Required value`);
  }
  const names = Object.keys(object);
  if (names.length < (numberAt(schema, "minProperties") ?? 0)) problems.push(`${path}: too few properties`);
  if (names.length > (numberAt(schema, "maxProperties") ?? Infinity))
    problems.push(`${path}: too many properties`);
  for (const [name, field] of Object.entries(object)) {
    if (path === "" && metaFields.has(name)) continue;
    const known = child(schema, name);
    if (known !== undefined) problems.push(...problemsOf(field, known, inner(name)));
  }
  return problems;
}
