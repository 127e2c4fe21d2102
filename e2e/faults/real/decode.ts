/** Reads what JSON of the API servers holds. */
import { type DynamicObject, isRecord } from "@klutch/kube-core";

/** The value under the path; undefined when something on the way is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

/** The number under the path; undefined for anything else. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** The text under the path; undefined for anything else. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** `<namespace>/<name>`. */
export function keyOf({ metadata }: DynamicObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
