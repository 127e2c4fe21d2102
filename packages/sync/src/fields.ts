/**
 * Who owns what in an object: `metadata.managedFields` (KEP-555) reduced to the two questions the engine asks. Is there a field that only
 * we hold in place and that is no longer wanted? Then an apply without it removes it. Is there a wanted field that we do not hold? Then an
 * apply takes it, so that later changes of it are noticed.
 */
import { fieldManager } from "@klutch/api";
import { type DynamicObject, isRecord, valueAt } from "@klutch/kube-core";

/** `fieldsV1`: keys `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>`, `i:<index>` and `.`. */
export type FieldSet = Readonly<Record<string, unknown>>;

/** One step into an object: a field name, or the index of a list item. */
export type FieldPath = readonly (string | number)[];

/** The manager under which the Go konnector created upstream objects, by update. */
export const legacyManager = "konnector";

/** Names, in reduced `managedFields`, those fields of our apply that others own, too. */
const sharedFields = `${fieldManager}/shared`;

/** Fields of one object that our managers own. */
export interface OwnedFields {
  /** Owned by our server-side apply, also where others own them, too. */
  readonly held: FieldSet;
  /** Owned by our server-side apply alone: the next apply without them removes them. */
  readonly applied: FieldSet;
  /** Owned by the update of an older agent, by our apply as well or not: they must be removed by name. */
  readonly legacy: FieldSet;
}

/** Our fields of the object; empty when the object carries no `managedFields`. */
export function ownedFields(object: DynamicObject): OwnedFields {
  let held: FieldSet = {};
  let legacy: FieldSet = {};
  let shared: FieldSet = {};
  const others: FieldSet[] = [];
  for (const entry of object.metadata.managedFields ?? []) {
    if (!isRecord(entry) || !isRecord(entry["fieldsV1"])) continue;
    const fields = entry["fieldsV1"];
    if (entry["manager"] === fieldManager && entry["operation"] === "Apply") held = fields;
    else if (entry["manager"] === legacyManager && entry["subresource"] === undefined) legacy = fields;
    else if (entry["manager"] === sharedFields) shared = fields;
    else others.push(fields);
  }
  let applied = without(held, shared);
  for (const other of others) {
    applied = without(applied, other);
    legacy = without(legacy, other);
  }
  return { held, applied, legacy };
}

/**
 * The same object with only those `managedFields` that `ownedFields` would read again, already reduced; for caches. Applying it twice
 * changes nothing.
 */
export function reduceManagedFields<T extends DynamicObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { held, applied, legacy } = ownedFields(object);
  const entries = [
    { manager: fieldManager, operation: "Apply", fieldsV1: held },
    { manager: legacyManager, operation: "Update", fieldsV1: legacy },
    { manager: sharedFields, operation: "Apply", fieldsV1: without(held, applied) },
  ].filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
  return { ...object, metadata: { ...object.metadata, managedFields: entries } };
}

/**
 * What stands in `object` at `fields`, and nothing else. Of a list of which we hold items: the whole list, with the items that we hold,
 * because only a schema tells which item is which. Of a field that is not there: that we hold it.
 */
export function valuesAt(fields: FieldSet, object: unknown): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(fields)) {
    if (key === ".") continue;
    const name = key.slice(2);
    const value = isRecord(object) ? object[name] : undefined;
    if (!isRecord(child) || Object.keys(child).length === 0) values[name] = value ?? { held: child };
    else if (isRecord(value)) values[name] = valuesAt(child, value);
    else values[name] = { held: child, value };
  }
  return values;
}

/**
 * Returns true if our apply holds every field of `wanted`, which is the part of an object that an apply can change. True as well of an object
 * that we never applied, and of one that an older agent made: of those the whole content is compared.
 */
export function holdsAll({ held, legacy }: OwnedFields, wanted: Readonly<Record<string, unknown>>): boolean {
  if (Object.keys(held).length === 0 || Object.keys(legacy).length > 0) return true;
  // No set of held fields names the type.
  const { apiVersion: _apiVersion, kind: _kind, ...fields } = wanted;
  return covers(held, fields);
}

/** As `valuesAt` compares: an empty set stands for the whole value, and a list is compared as a whole. */
function covers(fields: unknown, wanted: unknown): boolean {
  if (!isRecord(fields)) return false;
  if (!isRecord(wanted) || Object.keys(fields).length === 0) return true;
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || covers(fields[`f:${name}`], value),
  );
}

/** Paths in `fields` for which `wanted` has no value. Of `metadata` only labels and annotations count; `status` never does. */
export function surplusPaths(fields: FieldSet, wanted: unknown): FieldPath[] {
  const found: FieldPath[] = [];
  for (const [key, child] of Object.entries(fields)) {
    const name = key.slice(2);
    if (!key.startsWith("f:") || name === "status" || name === "apiVersion" || name === "kind") continue;
    if (name !== "metadata") {
      collect({ [key]: child }, wanted, [], found);
      continue;
    }
    const metadata = valueAt(wanted, "metadata");
    if (!isRecord(child)) continue;
    const kept = Object.fromEntries(
      Object.entries(child).filter(([field]) => field === "f:labels" || field === "f:annotations"),
    );
    collect(kept, metadata, ["metadata"], found);
  }
  return found;
}

function collect(fields: FieldSet, value: unknown, path: FieldPath, found: FieldPath[]): void {
  for (const [key, child] of Object.entries(fields)) {
    if (key === ".") continue;
    const step = stepOf(key, value);
    if (step === undefined) {
      found.push([...path, key]);
      continue;
    }
    if (step.value === undefined) found.push([...path, step.name]);
    else if (isRecord(child)) collect(child, step.value, [...path, step.name], found);
  }
}

function stepOf(key: string, value: unknown): { name: string | number; value: unknown } | undefined {
  const text = key.slice(2);
  if (key.startsWith("f:")) {
    return { name: text, value: isRecord(value) ? value[text] : undefined };
  }
  if (!Array.isArray(value)) return undefined;
  if (key.startsWith("i:")) return { name: Number(text), value: value[Number(text)] };
  const wanted: unknown = JSON.parse(text);
  const index = value.findIndex((item) =>
    key.startsWith("k:") ? matchesKeys(item, wanted) : item === wanted,
  );
  return index < 0 ? undefined : { name: index, value: value[index] };
}

function matchesKeys(item: unknown, keys: unknown): boolean {
  return (
    isRecord(item) && isRecord(keys) && Object.entries(keys).every(([name, value]) => item[name] === value)
  );
}

/** The leaves of `left` that are not in `right`; inner nodes without own leaves disappear. */
function without(left: FieldSet, right: FieldSet): FieldSet {
  const rest: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(left)) {
    const other = right[key];
    if (other === undefined) {
      rest[key] = child;
      continue;
    }
    if (!isRecord(child) || Object.keys(child).length === 0) continue;
    // A leaf on the other side means that the other manager holds the whole value from there on.
    if (!isRecord(other) || Object.keys(other).length === 0) continue;
    const inner = without(child, other);
    if (Object.keys(inner).length > 0) rest[key] = inner;
  }
  return rest;
}
