/** Merging two values of one type, after `typed/merge.go` of structured-merge-diff v6 with the rule "keep the right-hand side". */
import { at, isList, isObject, type Json } from "./json.ts";
import type { Atom, ListAtom } from "./merge-schema.ts";
import { deduce, isWrongScalar, itemElement, TypedError } from "./typed-values.ts";

/** The left value with the right one merged over it; undefined when nothing is there. */
export function merge(atom: Atom, left: Json | undefined, right: Json | undefined): Json | undefined {
  const leaf = right === undefined ? left : right;
  const { map, scalar, list } = deduce(atom, leaf);
  if (map !== undefined) {
    const names = [left, right].flatMap((value) => (isObject(value) ? Object.keys(value) : []));
    if (map.isAtomic || names.length === 0) return leaf;
    const merged: Record<string, Json> = {};
    for (const name of new Set(names)) {
      const type = map.fields.get(name)?.type ?? map.elementType;
      if (type === undefined) throw new TypedError(`.${name}: field not declared in schema`);
      const value = merge(type, at(left, name), at(right, name));
      if (value !== undefined) merged[name] = value;
    }
    return Object.keys(merged).length > 0 ? merged : undefined;
  }
  if (scalar !== undefined) {
    if (isWrongScalar(scalar, left) && isWrongScalar(scalar, right))
      throw new TypedError("values are no scalars");
    return leaf;
  }
  if (list === undefined) throw new TypedError("invalid atom");
  const [old, next] = [isList(left) ? left : [], isList(right) ? right : []];
  if (list.isAtomic || old.length + next.length === 0) return leaf;
  return mergeItems(list, old, next);
}

/** Keeps the order of both lists where they agree; of shared items that moved, the right-hand order wins. */
function mergeItems(list: ListAtom, left: readonly Json[], right: readonly Json[]): Json | undefined {
  const leftElements = left.map((item) => itemElement(list, item));
  const rightElements = right.map((item) => itemElement(list, item));
  if (new Set(rightElements).size < rightElements.length) throw new TypedError("duplicate entries");
  // A duplicate on the left counts only as present; its value does not matter.
  const old = new Map<string, Json>();
  for (const [index, element] of leftElements.entries()) {
    old.set(element, old.has(element) ? null : (left[index] ?? null));
  }
  const next = new Map(rightElements.map((element, index) => [element, right[index] ?? null]));
  const shared = rightElements.filter((element) => old.has(element));
  let nextShared = shared.shift();
  const merged: Json[] = [];
  const done = new Set<string>();
  const add = (element: string, leftItem: Json | undefined, rightItem: Json | undefined): void => {
    const item = merge(list.elementType, leftItem, rightItem);
    if (item !== undefined) merged.push(item);
    if (rightItem !== undefined) done.add(element);
  };
  for (let l = 0, r = 0; l < leftElements.length || r < rightElements.length; ) {
    const [leftElement, rightElement] = [leftElements[l], rightElements[r]];
    if (leftElement !== undefined && rightElement !== undefined) {
      if (leftElement === rightElement) {
        add(rightElement, old.get(rightElement), next.get(rightElement));
        l++;
        r++;
        nextShared = shared.shift();
        continue;
      }
      if (next.has(leftElement) && nextShared !== undefined && nextShared !== leftElement) {
        l++;
        continue;
      }
    }
    if (leftElement !== undefined) {
      if (!next.has(leftElement)) {
        add(leftElement, left[l], undefined);
        l++;
        continue;
      }
      if (done.has(leftElement)) l++;
    }
    if (rightElement !== undefined) {
      add(rightElement, old.get(rightElement), next.get(rightElement));
      r++;
      if (nextShared === rightElement) nextShared = shared.shift();
    }
  }
  return merged.length > 0 ? merged : undefined;
}
