/**
 * Who owns what in an object: `metadata.managedFields` (KEP-555) reduced to the question the engine asks: is there a field that only
 * we hold in place and that is no longer wanted? If so, an apply without it removes it.
 */
import { fieldManager } from "@klutch/api";
import { type DynamicObject, isRecord, valueAt } from "@klutch/kube-core";

/** `fieldsV1`: keys `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>`, `i:<index>` and `.`. */
export type FieldSet = Readonly<Record<string, unknown>>;

/** One step into an object: a field name, or the index of a list item. */
export type FieldPath = readonly (string | number)[];

/** The manager under which the Go konnector created upstream objects, by update. */
export const legacyManager = "konnector";

/** Fields of one object that only our managers own. */
export interface OwnedFields {
  /** Owned by server-side apply: the next apply without them removes them. */
  readonly applied: FieldSet;
  /** Owned by the update of an older agent, by our apply as well or not: they must be removed by name. */
  readonly legacy: FieldSet;
}

/** Our exclusive fields of the object; empty when the object carries no `managedFields`. */
export function ownedFields(object: DynamicObject): OwnedFields {
  let applied: FieldSet = {};
  let legacy: FieldSet = {};
  const others: FieldSet[] = [];
  for (const entry of object.metadata.managedFields ?? []) {
    if (!isRecord(entry) || !isRecord(entry["fieldsV1"])) continue;
    const fields = entry["fieldsV1"];
    if (entry["manager"] === fieldManager && entry["operation"] === "Apply") applied = fields;
    else if (entry["manager"] === legacyManager && entry["subresource"] === undefined) legacy = fields;
    else others.push(fields);
  }
  for (const other of others) {
    applied = without(applied, other);
    legacy = without(legacy, other);
  }
  return { applied, legacy };
}

/**
 * The same object with only those `managedFields` that `ownedFields` would read again, already reduced; for caches. Applying it twice
 * changes nothing.
 */
export function reduceManagedFields<T extends DynamicObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { applied, legacy } = ownedFields(object);
  const entries = [
    { manager: fieldManager, operation: "Apply", fieldsV1: applied },
    { manager: legacyManager, operation: "Update", fieldsV1: legacy },
  ].filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
  return { ...object, metadata: { ...object.metadata, managedFields: entries } };
}

/**
 * What stands in `object` at `fields`, and nothing else. Undefined where that cannot be said without a schema: for items of lists, and
 * for a field that is not there.
 */
export function valuesAt(fields: FieldSet, object: unknown): Readonly<Record<string, unknown>> | undefined {
  const values: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(fields)) {
    if (key === ".") continue;
    const name = key.slice(2);
    const value = key.startsWith("f:") && isRecord(object) ? object[name] : undefined;
    const isLeaf = !isRecord(child) || Object.keys(child).length === 0;
    const kept = isLeaf || value === undefined ? value : valuesAt(child, value);
    if (kept === undefined) return undefined;
    values[name] = kept;
  }
  return values;
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
