/**
 * Values seen through their type: their fields, the differences between two values, and the rest when some fields are removed.
 * After `typed/` of structured-merge-diff v6, whose structure it follows on purpose. `undefined` is absent, `null` is a JSON null.
 */
import { jsonEqual } from "@klutch/kube-core";
import { ancestorsOf, below, type FieldSet, type Path } from "./field-set.ts";
import { isList, isObject, type Json, type JsonObject } from "./json.ts";
import type { Atom, ListAtom } from "./merge-schema.ts";

/** A value does not fit its type; the server answers 500 for an apply and drops `managedFields` otherwise. */
export class TypedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypedError";
  }
}

/** Paths that differ between two values. */
export interface Comparison {
  readonly added: Set<Path>;
  readonly modified: Set<Path>;
  readonly removed: Set<Path>;
}

/** Narrows a type of several parts to the part that fits the value. */
export function deduce(atom: Atom, value: Json | undefined): Atom {
  if (value === undefined || value === null) return atom;
  if (isList(value)) return atom.list === undefined ? atom : { list: atom.list };
  if (isObject(value)) return atom.map === undefined ? atom : { map: atom.map };
  return atom.scalar === undefined ? atom : { scalar: atom.scalar };
}

/** Returns true if two narrowed types are the same part. */
export function isSamePart(left: Atom, right: Atom): boolean {
  return left.map === right.map && left.list === right.list && left.scalar === right.scalar;
}

/** Returns true if a value is not a scalar of the type. */
export function isWrongScalar(scalar: Atom["scalar"], value: Json | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (scalar === "numeric") return typeof value !== "number";
  if (scalar === "untyped") return typeof value === "object";
  return typeof value !== scalar;
}

/** Returns the path element of an item of a merged list. */
export function itemElement(list: ListAtom, item: Json): string {
  if (list.keys.length === 0) {
    if (typeof item === "object")
      throw new TypedError("associative list without keys has an element that is no scalar");
    return `v:${JSON.stringify(item)}`;
  }
  if (!isObject(item)) throw new TypedError("associative list with keys may not have non-map elements");
  const keys: Record<string, Json> = {};
  for (const key of list.keys.toSorted()) {
    const value = item[key] ?? list.elementType.map?.fields.get(key)?.default;
    if (value !== undefined) keys[key] = value;
  }
  if (Object.keys(keys).length === 0) {
    throw new TypedError(
      `associative list with keys has an element that omits all key fields ${JSON.stringify(list.keys)}`,
    );
  }
  return `k:${JSON.stringify(keys)}`;
}

/** Throws `TypedError` when the value does not fit. */
export function assertTyped(atom: Atom, value: Json, allowDuplicates: boolean, path = ""): void {
  const { map, scalar, list } = deduce(atom, value);
  if (value === null) return;
  if (map !== undefined) {
    if (!isObject(value)) throw new TypedError(`${path}: expected map, got ${JSON.stringify(value)}`);
    for (const [name, child] of Object.entries(value)) {
      const type = map.fields.get(name)?.type ?? map.elementType;
      if (type === undefined) throw new TypedError(`${path}.${name}: field not declared in schema`);
      assertTyped(type, child, allowDuplicates, `${path}.${name}`);
    }
  } else if (scalar !== undefined) {
    if (isWrongScalar(scalar, value))
      throw new TypedError(`${path}: expected ${scalar}, got ${JSON.stringify(value)}`);
  } else if (list !== undefined) {
    if (!isList(value)) throw new TypedError(`${path}: expected list, got ${JSON.stringify(value)}`);
    const seen = new Set<string>();
    for (const [index, item] of value.entries()) {
      const element = list.isAtomic ? `i:${index}` : itemElement(list, item);
      if (seen.has(element) && !allowDuplicates) {
        throw new TypedError(`${path}: duplicate entries for key [${element.slice(2)}]`);
      }
      seen.add(element);
      assertTyped(list.elementType, item, allowDuplicates, `${path}[${index}]`);
    }
  }
}

/** The fields that a value holds. */
export function fieldSetOf(atom: Atom, value: Json): FieldSet {
  const set = new Set<Path>();
  collectFields(atom, value, "", set);
  set.delete("");
  return set;
}

function collectFields(atom: Atom, value: Json, path: Path, set: Set<Path>): void {
  const { map, scalar, list } = deduce(atom, value);
  if (map !== undefined) {
    if (map.isAtomic) set.add(path);
    else if (isObject(value)) {
      for (const [name, child] of Object.entries(value)) {
        const field = map.fields.get(name);
        const type = field?.type ?? map.elementType;
        const inner = below(path, `f:${name}`);
        if (type !== undefined) collectFields(type, child, inner, set);
        const isBlank = child === null || (isObject(child) && Object.keys(child).length === 0);
        if (isBlank || field === undefined) set.add(inner);
      }
    }
  } else if (scalar !== undefined) set.add(path);
  else if (list !== undefined) {
    if (list.isAtomic) set.add(path);
    else if (isList(value)) collectItems(list, value, path, set);
  }
}

function collectItems(list: ListAtom, items: readonly Json[], path: Path, set: Set<Path>): void {
  const elements = items.map((item) => itemElement(list, item));
  for (const [index, element] of elements.entries()) {
    const inner = below(path, element);
    set.add(inner);
    const isDuplicate = elements.indexOf(element) !== elements.lastIndexOf(element);
    if (!isDuplicate) collectFields(list.elementType, items[index] ?? null, inner, set);
  }
}

/** Returns the paths that differ between two values of one type. */
export function compare(atom: Atom, left: Json, right: Json): Comparison {
  const result = { added: new Set<Path>(), modified: new Set<Path>(), removed: new Set<Path>() };
  compareAt(atom, left, right, "", result);
  for (const paths of Object.values(result)) paths.delete("");
  return result;
}

function compareAt(
  atom: Atom,
  left: Json | undefined,
  right: Json | undefined,
  path: Path,
  result: Comparison,
): void {
  const [leftPart, rightPart] = [deduce(atom, left), deduce(atom, right)];
  let isLeaf: boolean;
  if (right === undefined) isLeaf = comparePart(leftPart, left, right, path, result);
  else if (left === undefined || isSamePart(leftPart, rightPart)) {
    isLeaf = comparePart(rightPart, left, right, path, result);
  } else {
    comparePart(leftPart, left, right, path, result);
    isLeaf = comparePart(rightPart, left, right, path, result);
  }
  if (isLeaf) return;
  if (left === undefined) result.added.add(path);
  else if (right === undefined) result.removed.add(path);
}

/** True when the value was compared as one. */
function comparePart(
  part: Atom,
  left: Json | undefined,
  right: Json | undefined,
  path: Path,
  result: Comparison,
): boolean {
  const asLeaf = (): true => {
    if (left === undefined) result.added.add(path);
    else if (right === undefined) result.removed.add(path);
    else if (!jsonEqual(left, right)) result.modified.add(path);
    return true;
  };
  if (part.map !== undefined) {
    const { map } = part;
    const [old, next] = [isObject(left) ? left : {}, isObject(right) ? right : {}];
    const names = new Set([...Object.keys(old), ...Object.keys(next)]);
    if (map.isAtomic || names.size === 0) return asLeaf();
    for (const name of names) {
      const type = map.fields.get(name)?.type ?? map.elementType;
      if (type === undefined) throw new TypedError(`${name}: field not declared in schema`);
      compareAt(type, own(old, name), own(next, name), below(path, `f:${name}`), result);
    }
    return false;
  }
  if (part.scalar !== undefined) {
    if (
      left !== undefined &&
      right !== undefined &&
      isWrongScalar(part.scalar, left) &&
      isWrongScalar(part.scalar, right)
    ) {
      throw new TypedError("values are no scalars");
    }
    return asLeaf();
  }
  if (part.list === undefined) throw new TypedError("invalid atom");
  const [old, next] = [isList(left) ? left : [], isList(right) ? right : []];
  if (part.list.isAtomic || old.length + next.length === 0) return asLeaf();
  compareItems(part.list, old, next, path, result);
  return false;
}

function compareItems(
  list: ListAtom,
  left: readonly Json[],
  right: readonly Json[],
  path: Path,
  result: Comparison,
): void {
  const old = Map.groupBy(left, (item) => itemElement(list, item));
  const next = Map.groupBy(right, (item) => itemElement(list, item));
  for (const element of new Set([...old.keys(), ...next.keys()])) {
    const [before, after] = [old.get(element) ?? [], next.get(element) ?? []];
    const inner = below(path, element);
    if (before.length <= 1 && after.length <= 1) {
      compareAt(list.elementType, before[0], after[0], inner, result);
    } else if (before.length >= 2 && after.length >= 2) {
      if (!jsonEqual(before, after)) result.modified.add(inner);
    } else if (before.length >= 2) {
      if (after.length > 0) compareAt(list.elementType, undefined, after[0], inner, result);
      result.removed.add(inner);
    } else {
      if (before.length > 0) compareAt(list.elementType, before[0], undefined, inner, result);
      result.added.add(inner);
    }
  }
}

/** Returns the value without the fields of the set; undefined when nothing is left. */
export function removeFields(atom: Atom, value: Json, fields: FieldSet): Json | undefined {
  return removeBelow(atom, value, "", { fields, ancestors: ancestorsOf(fields) });
}

function removeBelow(
  atom: Atom,
  value: Json,
  path: Path,
  removed: { readonly fields: FieldSet; readonly ancestors: FieldSet },
): Json | undefined {
  const { map, list } = deduce(atom, value);
  const keep = (element: string, type: Atom | undefined, child: Json): Json | undefined => {
    const inner = below(path, element);
    if (removed.fields.has(inner)) return undefined;
    if (type === undefined || !removed.ancestors.has(inner)) return child;
    return removeBelow(type, child, inner, removed) ?? null;
  };
  if (map !== undefined) {
    if (!isObject(value) || map.isAtomic) return undefined;
    const kept = Object.entries(value).flatMap(([name, child]) => {
      const left = keep(`f:${name}`, map.fields.get(name)?.type ?? map.elementType, child);
      return left === undefined ? [] : [[name, left] as const];
    });
    return kept.length > 0 ? Object.fromEntries(kept) : undefined;
  }
  if (list === undefined) return value;
  if (!isList(value) || list.isAtomic) return undefined;
  const kept = value.map((item) => keep(itemElement(list, item), list.elementType, item));
  const left = kept.filter((item) => item !== undefined);
  return left.length > 0 ? left : undefined;
}

function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
