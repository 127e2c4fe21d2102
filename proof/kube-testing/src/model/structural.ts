/** Pruning and defaults of structural schemas (apiextensions). Left out: embedded resources' own metadata. */
import { at, isList, isObject, type Json, type JsonObject, objectAt } from "./json.ts";

const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
const keepsUnknown = "x-kubernetes-preserve-unknown-fields";

/** The object as the server decodes it: unknown fields and senseless nulls dropped, defaults filled in. Metadata is left alone. */
export function coerce(object: JsonObject, schema: JsonObject): JsonObject {
  return withContent(object, (content) => withDefaults(prune(content, schema), schema));
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

/** Drops unknown fields, and nulls where none may be. In an open value unknown fields are kept as they are. */
function prune(value: Json, schema: JsonObject | undefined, isInOpen = false): Json {
  const isOpen = isInOpen || schema?.[keepsUnknown] === true;
  if (isList(value)) return value.map((item) => prune(item, itemsOf(schema), isOpen));
  if (!isObject(value) || (isOpen && schema === undefined)) return value;
  const kept: Record<string, Json> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = child(schema, name);
    const isSenseless = isForbiddenNull(field, known) && known?.["default"] === undefined;
    if (known !== undefined && !isSenseless) kept[name] = prune(field, known);
    else if (known === undefined && isOpen) kept[name] = field;
  }
  return kept;
}

function isForbiddenNull(value: Json | undefined, schema: JsonObject | undefined): boolean {
  return value === null && schema !== undefined && schema["nullable"] !== true;
}

function withDefaults(value: Json, schema: JsonObject | undefined): Json {
  if (schema === undefined) return value;
  const filled = (field: Json | undefined, known: JsonObject | undefined): Json | undefined => {
    const isMissing = field === undefined || isForbiddenNull(field, known);
    const content = isMissing ? (known?.["default"] ?? field) : field;
    return content === undefined ? undefined : withDefaults(content, known);
  };
  if (isList(value)) return value.map((item) => filled(item, itemsOf(schema)) ?? null);
  if (!isObject(value)) return value;
  const names = [...Object.keys(value), ...Object.keys(objectAt(schema, "properties"))];
  const fields = new Set(names).values().flatMap((name) => {
    const field = filled(Object.hasOwn(value, name) ? value[name] : undefined, child(schema, name));
    return field === undefined ? [] : [[name, field] as const];
  });
  return Object.fromEntries(fields);
}
