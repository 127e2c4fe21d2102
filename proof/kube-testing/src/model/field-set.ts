/**
 * Sets of field paths and their `fieldsV1` form, after `fieldpath.Set` of structured-merge-diff v6. An element of a path is its own
 * wire form: `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>`.
 */
import { isObject, type JsonObject } from "./json.ts";
import type { Atom } from "./merge-schema.ts";

/** The path from the root of an object, which is the empty text, to one of its fields. */
export type Path = string;

/** A set of paths. A path may be in it without those above or below it. The root itself is never in one. */
export type FieldSet = ReadonlySet<Path>;

const separator = "\0";

/** Returns the path of an element directly below another path. */
export function below(path: Path, element: string): Path {
  return path === "" ? element : path + separator + element;
}

function elementsOf(path: Path): readonly string[] {
  return path.split(separator);
}

/** Returns the set without the paths of the other set and everything below them. */
export function withoutBelow(set: FieldSet, other: FieldSet): FieldSet {
  const isKept = (path: Path): boolean =>
    ![...other].some((root) => path === root || path.startsWith(root + separator));
  return other.size === 0 ? set : new Set([...set].filter(isKept));
}

/** Returns every path that has one of the set below it. */
export function ancestorsOf(set: FieldSet): FieldSet {
  const ancestors = new Set<Path>();
  for (const path of set)
    for (let end = path.lastIndexOf(separator); end > 0; end = path.lastIndexOf(separator, end - 1))
      ancestors.add(path.slice(0, end));
  return ancestors;
}

/** Adds the inner paths that lead through named fields of the schema. */
export function withNamedFields(set: FieldSet, atom: Atom): FieldSet {
  const result = new Set(set);
  for (const path of set) {
    let type: Atom | undefined = atom;
    let inner: Path = "";
    for (const element of elementsOf(path).slice(0, -1)) {
      inner = below(inner, element);
      const name = element.slice(2);
      if (element.startsWith("f:")) {
        if (type?.map?.fields.has(name) === true) result.add(inner);
        type = type?.map?.fields.get(name)?.type ?? type?.map?.elementType;
      } else type = element.startsWith("k:") ? type?.list?.elementType : undefined;
    }
  }
  return result;
}

interface Tree {
  [element: string]: Tree;
}

/** Returns the set as `fieldsV1`. */
export function fieldsToJson(set: FieldSet): JsonObject {
  const root: Tree = {};
  const ancestors = ancestorsOf(set);
  for (const path of [...set].toSorted()) {
    let node = root;
    for (const element of elementsOf(path)) node = node[element] ??= {};
    if (ancestors.has(path)) node["."] = {};
  }
  return root;
}

/** Reads `fieldsV1`. */
export function fieldsFromJson(fields: JsonObject, path: Path = ""): FieldSet {
  const set = new Set<Path>();
  for (const [element, value] of Object.entries(fields)) {
    const inner = element === "." ? path : below(path, element);
    if (isObject(value) && Object.keys(value).length > 0)
      for (const deeper of fieldsFromJson(value, inner)) set.add(deeper);
    else if (inner !== "") set.add(inner);
  }
  return set;
}

/** Prints a path as the server does in messages: `.spec.items[name="a"].size`. */
export function printPath(path: Path): string {
  return elementsOf(path)
    .map((element) => {
      const text = element.slice(2);
      if (element.startsWith("f:")) return `.${text}`;
      if (!element.startsWith("k:")) return `[=${text}]`;
      const keys: unknown = JSON.parse(text);
      const pairs = Object.entries(typeof keys === "object" && keys !== null ? keys : {});
      return `[${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
    })
    .join("");
}
