/**
 * Sets of field paths and their `fieldsV1` form, after `fieldpath.Set` of structured-merge-diff v6. A path element is its own
 * wire form: `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>`.
 */
import { isObject, type JsonObject } from "./json.ts";
import type { Atom } from "./merge-schema.ts";

/** From the root of an object to one of its fields. */
export type Path = readonly string[];

/** A set of paths. A path may be in it without those above or below it. */
export class FieldSet {
  readonly members: Set<string> = new Set();
  readonly children: Map<string, FieldSet> = new Map();

  static of(...paths: readonly Path[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  /** Adds one path; the root itself is never in a set. */
  insert(path: Path): void {
    const [first, ...rest] = path;
    if (first === undefined) return;
    if (rest.length === 0) {
      this.members.add(first);
      return;
    }
    const child = this.children.get(first) ?? new FieldSet();
    this.children.set(first, child);
    child.insert(rest);
  }

  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.values().every((child) => child.isEmpty);
  }

  /** What is below one element. */
  below(element: string): FieldSet {
    return this.children.get(element) ?? new FieldSet();
  }

  union(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of [...this.members, ...other.members]) result.members.add(element);
    for (const element of new Set([...this.children.keys(), ...other.children.keys()])) {
      const [left, right] = [this.children.get(element), other.children.get(element)];
      const both = left === undefined || right === undefined ? (left ?? right) : left.union(right);
      if (both !== undefined) result.children.set(element, both);
    }
    return result;
  }

  intersection(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) if (other.members.has(element)) result.members.add(element);
    for (const [element, child] of this.children) {
      result.#adopt(element, child.intersection(other.below(element)));
    }
    return result;
  }

  /** Removes exactly the paths of the other set. */
  difference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) if (!other.members.has(element)) result.members.add(element);
    for (const [element, child] of this.children) {
      result.#adopt(element, child.difference(other.below(element)));
    }
    return result;
  }

  /** Removes the paths of the other set and everything below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) if (!other.members.has(element)) result.members.add(element);
    for (const [element, child] of this.children) {
      if (other.members.has(element)) continue;
      result.#adopt(element, child.recursiveDifference(other.below(element)));
    }
    return result;
  }

  /** Adds the inner paths that lead through named fields of the schema. */
  withNamedFields(atom: Atom | undefined): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) result.members.add(element);
    for (const [element, child] of this.children) {
      let type: Atom | undefined;
      if (element.startsWith("f:")) {
        const field = atom?.map?.fields.get(element.slice(2));
        if (field !== undefined) result.members.add(element);
        type = field?.type ?? atom?.map?.elementType;
      } else if (element.startsWith("k:")) {
        type = atom?.list?.elementType;
      }
      result.children.set(element, child.withNamedFields(type));
    }
    return result;
  }

  /** All paths, for messages. */
  *paths(prefix: Path = []): Generator<Path> {
    for (const element of [...this.members].toSorted()) yield [...prefix, element];
    for (const element of [...this.children.keys()].toSorted()) {
      yield* this.below(element).paths([...prefix, element]);
    }
  }

  toJson(isMember = false): JsonObject {
    const result: Record<string, JsonObject> = {};
    if (isMember && !this.isEmpty) result["."] = {};
    for (const element of [...new Set([...this.members, ...this.children.keys()])].toSorted()) {
      const child = this.below(element);
      if (this.members.has(element) || !child.isEmpty) {
        result[element] = child.toJson(this.members.has(element));
      }
    }
    return result;
  }

  static fromJson(fields: JsonObject): FieldSet {
    return read(fields).set ?? new FieldSet();
  }

  #adopt(element: string, child: FieldSet): void {
    if (!child.isEmpty) this.children.set(element, child);
  }
}

function read(fields: JsonObject): { set: FieldSet | undefined; isMember: boolean } {
  let isMember = false;
  let set: FieldSet | undefined;
  for (const [element, value] of Object.entries(fields)) {
    if (element === ".") {
      isMember = true;
      continue;
    }
    const child = read(isObject(value) ? value : {});
    set ??= new FieldSet();
    if (child.isMember) set.members.add(element);
    if (child.set !== undefined) set.children.set(element, child.set);
  }
  return { set, isMember: isMember || set === undefined };
}

/** As the server prints a path in messages: `.spec.items[name="a"].size`. */
export function printPath(path: Path): string {
  return path
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
