/**
 * Values seen through their type: their fields, the differences between two values, and the rest when some fields are removed.
 * After `typed/` of structured-merge-diff v6, whose structure it follows on purpose. `undefined` is absent, `null` is a JSON null.
 */
import { jsonEqual } from "@klutch/kube-core";
import { ancestorsOf, below, type FieldSet, type Path } from "./field-set.ts";
import { isList, isObject, type Json } from "./json.ts";
import type { Atom, ListAtom } from "./merge-schema.ts";

/** A value does not fit its type; the server answers 500 for an apply and drops `managedFields` otherwise. */
export class TypedError extends Error {
  override readonly name = "TypedError";
}

/** Narrows a type of several parts to the part that fits the value. */
export function deduce(atom: Atom, value: Json | undefined): Atom {
  if (value === undefined || value === null) return atom;
  if (isList(value)) return atom.list === undefined ? atom : { list: atom.list };
  if (isObject(value)) return atom.map === undefined ? atom : { map: atom.map };
  return atom.scalar === undefined ? atom : { scalar: atom.scalar };
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

/** A field of a value. */
interface Field {
  readonly value: Json;
  /** A `leaf` is compared as one value, an `inner` field by those below it; an `empty` one could have some. */
  readonly kind: "leaf" | "inner" | "empty";
  /** True if it is one of the fields that its writer owns. */
  readonly isOwned: boolean;
}

function collect(
  atom: Atom | undefined,
  value: Json,
  path: Path,
  isOwned: boolean,
  fields: Map<Path, Field>,
): void {
  const { map, list } = atom === undefined ? {} : deduce(atom, value);
  const isLeaf = map === undefined ? list?.isAtomic !== false : map.isAtomic;
  const before = fields.size;
  if (map?.isAtomic === false && isObject(value))
    for (const [name, child] of Object.entries(value)) {
      const field = map.fields.get(name);
      const isBlank = child === null || (isObject(child) && Object.keys(child).length === 0);
      const type = field?.type ?? map.elementType;
      collect(type, child, below(path, `f:${name}`), isBlank || field === undefined, fields);
    }
  else if (list?.isAtomic === false && isList(value))
    for (const [element, items] of Map.groupBy(value, (item) => itemElement(list, item))) {
      // Duplicates are compared as one value.
      const [first = null, ...more] = items;
      if (more.length > 0) collect(undefined, items, below(path, element), true, fields);
      else collect(list.elementType, first, below(path, element), true, fields);
    }
  const kind = isLeaf ? "leaf" : fields.size > before ? "inner" : "empty";
  if (path !== "") fields.set(path, { value, kind, isOwned: isOwned || isLeaf });
}

function fieldsOf(atom: Atom, value: Json): ReadonlyMap<Path, Field> {
  const fields = new Map<Path, Field>();
  collect(atom, value, "", false, fields);
  return fields;
}

/** The fields that a value holds. */
export function fieldSetOf(atom: Atom, value: Json): FieldSet {
  const owned = [...fieldsOf(atom, value)].filter(([, { isOwned }]) => isOwned);
  return new Set(owned.map(([path]) => path));
}

/** Returns the paths that differ between two values of one type: those that were added or modified, and those that were removed. */
export function compare(
  atom: Atom,
  left: Json,
  right: Json,
): { readonly set: FieldSet; readonly removed: FieldSet } {
  const [old, next] = [fieldsOf(atom, left), fieldsOf(atom, right)];
  const isSet = ([path, after]: readonly [Path, Field]): boolean => {
    const before = old.get(path);
    if (before?.kind === "inner") return after.kind === "leaf";
    return (
      before === undefined ||
      (after.kind === "inner" ? before.kind === "leaf" : !jsonEqual(before.value, after.value))
    );
  };
  const set = new Set([...next].filter(isSet).map(([path]) => path));
  return { set, removed: new Set(old.keys()).difference(next) };
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
