/**
 * Readers of JSON of which nothing is known. A path is of field names; with none it is the value itself. Whatever is of another type than
 * asked for counts as missing, and so does what a value inherits. None of them throws. Lists have no fields.
 */
import { isRecord } from "./is-record.ts";

/** The value that the text is as JSON; undefined for a text that is none, and without one. */
export function jsonOf(text = ""): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value at the path; undefined as soon as something on the way is missing. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

/** The text at the path; undefined when there is none, and for an empty one, which means as much in Kubernetes. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The number at the path; undefined when there is none. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** The object at the path, empty when there is none. */
export function recordAt(value: unknown, ...path: readonly string[]): Readonly<Record<string, unknown>> {
  const found = valueAt(value, ...path);
  return isRecord(found) ? found : {};
}

/** The list at the path, empty when there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects in the list at the path. */
export function recordsAt(
  value: unknown,
  ...path: readonly string[]
): readonly Readonly<Record<string, unknown>>[] {
  return listAt(value, ...path).filter(isRecord);
}
