/**
 * `metadata.managedFields` (KEP-555): who owns which field after an update or an apply, after `managedfields/internal` of
 * apimachinery and `merge/update.go` of structured-merge-diff. Left out: the cap of ten updating managers, kubectl's last-applied
 * annotation, ownership across versions with conversion webhooks, and changes of a list's type while it is owned.
 */
import { jsonEqual } from "@klutch/kube-core";
import {
  below,
  type FieldSet,
  fieldsFromJson,
  fieldsToJson,
  printPath,
  withNamedFields,
  withoutBelow,
} from "./field-set.ts";
import { at, isObject, type Json, type JsonObject, objectAt, objectsAt, textAt, withMeta } from "./json.ts";
import type { Atom } from "./merge-schema.ts";
import { conflict } from "./status-errors.ts";
import { merge } from "./typed-merge.ts";
import { assertTyped, compare, fieldSetOf, removeFields, TypedError } from "./typed-values.ts";

/** One entry. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** Empty for the main resource. */
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** All entries of an object, by their identity. */
export type Managed = ReadonlyMap<string, ManagedEntry>;

/** Describes a write for ownership: the manager, the type of the object and the time. */
export interface WriteContext {
  readonly atom: Atom;
  readonly apiVersion: string;
  readonly manager: string;
  readonly subresource: string;
  /** Fields that this endpoint ignores. */
  readonly resetFields: FieldSet;
  /** RFC 3339. */
  readonly now: string;
}

/** Fields that never have an owner. */
const unowned: FieldSet = new Set([
  "f:apiVersion",
  "f:kind",
  "f:metadata",
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => below("f:metadata", `f:${name}`)),
]);

function identity(entry: Pick<ManagedEntry, "manager" | "operation" | "apiVersion" | "subresource">): string {
  const version = entry.operation === "Apply" ? "" : entry.apiVersion;
  return JSON.stringify([entry.manager, entry.operation, version, entry.subresource]);
}

/** Reads the entries of an object; undefined when there are none that can be read. */
function decodeManaged(object: JsonObject): Managed | undefined {
  const entries = objectsAt(object, "metadata", "managedFields").map((item): ManagedEntry => {
    const time = textAt(item, "time");
    return {
      manager: textAt(item, "manager"),
      operation: item["operation"] === "Apply" ? "Apply" : "Update",
      apiVersion: textAt(item, "apiVersion"),
      subresource: textAt(item, "subresource"),
      time: time === "" ? undefined : time,
      fields: fieldsFromJson(objectAt(item, "fieldsV1")),
    };
  });
  if (entries.length === 0) return undefined;
  return new Map(entries.map((entry) => [identity(entry), entry]));
}

/** Encodes the entries in the server's order. */
function encodeManaged(managed: Managed): Json | undefined {
  if (managed.size === 0) return undefined;
  // The separator comes before every letter.
  const order = ({ operation, time = "", manager, apiVersion, subresource }: ManagedEntry): string =>
    [operation, time, manager, apiVersion, subresource].join("\0");
  const byOrder = [...managed.values()].toSorted((left, right) => (order(left) < order(right) ? -1 : 1));
  return byOrder.map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: fieldsToJson(fields),
    ...(subresource === "" ? {} : { subresource }),
  }));
}

/** Returns true if the object asks to forget all owners: a list of one empty entry. */
function isReset(object: JsonObject): boolean {
  const list = at(object, "metadata", "managedFields");
  return Array.isArray(list) && list.length === 1 && jsonEqual(list[0], {});
}

/**
 * The new object with its owners after a create (`live` has no uid) or an update. A subresource cannot set owners directly. An
 * object whose owners were forgotten stays without until it is applied.
 */
export function trackUpdate(live: JsonObject, next: JsonObject, context: WriteContext): JsonObject {
  const given = context.subresource === "" && !isReset(next) ? decodeManaged(next) : undefined;
  const isForgotten = context.subresource === "" && isReset(next);
  const managed = isForgotten ? undefined : (given ?? decodeManaged(live));
  const bare = withMeta(next, { managedFields: undefined });
  if (managed === undefined && textAt(live, "metadata", "uid") !== "") return bare;
  try {
    const owners = update(withMeta(live, { managedFields: undefined }), bare, managed ?? new Map(), context);
    return withMeta(bare, { managedFields: encodeManaged(owners) });
  } catch (error) {
    // Owners that cannot be told stay as they were, since Kubernetes 1.37; before, all were forgotten.
    if (error instanceof TypedError)
      return withMeta(bare, { managedFields: at(live, "metadata", "managedFields") });
    throw error;
  }
}

function update(live: JsonObject, next: JsonObject, managed: Managed, context: WriteContext): Managed {
  const { atom, manager, subresource, apiVersion } = context;
  assertTyped(atom, next, true);
  assertTyped(atom, live, true);
  const changes = changesOf(live, next, context);
  const owners = new Map(withoutChanged(managed, changes, undefined));
  const own = changes.set.difference(unowned);
  if (own.size === 0) return owners;
  const entry = { manager, operation: "Update", apiVersion, subresource } as const;
  const fields = own.union(owners.get(identity(entry))?.fields ?? new Set<string>());
  owners.set(identity(entry), { ...entry, time: context.now, fields });
  return owners;
}

/** Compares two states, without the fields that the endpoint ignores. */
function changesOf(left: JsonObject, right: JsonObject, { atom, resetFields }: WriteContext): Changes {
  const { set: changed, removed } = compare(atom, left, right);
  const set = withoutBelow(changed, resetFields);
  return { set, all: set.union(withoutBelow(removed, resetFields)) };
}

/** Fields that were added or modified, and these with those that were removed. */
interface Changes {
  readonly set: FieldSet;
  readonly all: FieldSet;
}

/** Takes changed fields from all owners but `except`. */
function withoutChanged(managed: Managed, { all }: Changes, except: string | undefined): Managed {
  const owners = new Map<string, ManagedEntry>();
  for (const [id, entry] of managed) {
    const fields = id === except ? entry.fields : entry.fields.difference(all);
    if (fields.size > 0) owners.set(id, { ...entry, fields });
  }
  return owners;
}

/** The result of an apply, with owners. `live` is an empty object when it is to be created. Throws `ApiError` 409 and `TypedError`. */
export function trackApply(
  live: JsonObject,
  config: JsonObject,
  force: boolean,
  context: WriteContext,
): JsonObject {
  const { atom, apiVersion, subresource, manager, resetFields } = context;
  const bare = withMeta(live, { managedFields: undefined });
  const before =
    decodeManaged(live) ??
    update({ apiVersion, kind: textAt(config, "kind") }, bare, new Map(), {
      ...context,
      manager: "before-first-apply",
    });
  assertTyped(atom, config, false);
  const entry = { manager, operation: "Apply", apiVersion, subresource } as const;
  const id = identity(entry);
  const last = before.get(id);
  const fields = withoutBelow(fieldSetOf(atom, config), resetFields);
  const managed = new Map(before).set(id, { ...entry, time: last?.time, fields });
  const merged = asObject(merge(atom, bare, config));
  const result = last === undefined ? merged : prune(atom, merged, managed, last.fields);
  const changes = changesOf(bare, result, context);
  if (!force) assertNoConflict(managed, changes, id);
  const owners = new Map(withoutChanged(managed, changes, id));
  const isSame = jsonEqual(bare, result);
  const own = fields.difference(unowned);
  if (own.size === 0) owners.delete(id);
  else owners.set(id, { ...entry, fields: own, time: isSame ? last?.time : context.now });
  return withMeta(result, { managedFields: encodeManaged(owners) });
}

function assertNoConflict(managed: Managed, { set }: Changes, own: string): void {
  const found = [...managed].flatMap(([id, entry]) =>
    id === own ? [] : [...entry.fields.intersection(set)].map((path) => ({ entry, path })),
  );
  if (found.length === 0) return;
  const causes = found.map(({ entry, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${describeManager(entry)}`,
    field: printPath(path),
  }));
  const lines = causes.map(({ message, field }) => `${message}: ${field}`);
  const count = `${found.length} conflict${found.length === 1 ? "" : "s"}`;
  throw conflict(`Apply failed with ${count}: ${lines.join("\n")}`, { causes });
}

function describeManager({ manager, subresource, operation, apiVersion, time }: ManagedEntry): string {
  const name = JSON.stringify(manager);
  const part = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  if (operation === "Apply") return `${name}${part}`;
  return `${name}${part} using ${apiVersion}${time === undefined ? "" : ` at ${time}`}`;
}

/** Removes the fields that the manager applied last time and that have no owner now. */
function prune(atom: Atom, merged: JsonObject, managed: Managed, last: FieldSet): JsonObject {
  const lastNamed = withNamedFields(last, atom);
  const fieldsOf = (value: Json): FieldSet => withNamedFields(fieldSetOf(atom, value), atom);
  const ofMerged = fieldsOf(merged);
  const all = managed.values().reduce<FieldSet>((union, { fields }) => union.union(fields), new Set());
  // Fields with an owner come back …
  const kept = fieldsOf(removeFields(atom, merged, lastNamed) ?? null).union(withNamedFields(all, atom));
  const pruned = removeFields(atom, merged, ofMerged.difference(kept)) ?? null;
  // … and so do fields that were never this manager's.
  const dangling = ofMerged.difference(fieldsOf(pruned)).intersection(lastNamed);
  return asObject(removeFields(atom, merged, dangling));
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
