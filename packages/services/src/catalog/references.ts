/** Follows `$ref` inside one schema of a catalog. Nothing is fetched. */
import { isRecord } from "@klutch/kube-core";
import type { Warn } from "./notes.ts";

/** A schema, and the references that led to it. */
export interface Resolved {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly refs: readonly string[];
}

/** Returns the schema behind all references; undefined after a warning. */
export function resolved(
  root: unknown,
  value: Readonly<Record<string, unknown>>,
  { refs, field, warn }: { readonly refs: readonly string[]; readonly field: string; readonly warn: Warn },
): Resolved | undefined {
  const { $ref: ref } = value;
  if (ref === undefined) return { schema: value, refs };
  const refuse = (reason: string): undefined => warn(`${field}.$ref`, ref, reason);
  if (typeof ref !== "string") return refuse("expected a text such as #/definitions/name; it is left out");
  if (!ref.startsWith("#"))
    return refuse("it refers outside the catalog, and nothing is fetched; it is left out");
  if (refs.includes(ref)) return refuse("it refers to itself; it is left out");
  const target = pointed(root, ref.slice(1));
  if (!isRecord(target)) return refuse("the schema has nothing there; it is left out");
  return resolved(root, target, { refs: [...refs, ref], field, warn });
}

function pointed(root: unknown, pointer: string): unknown {
  const [, ...steps] = pointer.split("/");
  if (steps.length > 20) return undefined;
  let found = root;
  for (const step of steps) {
    const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Object.entries(found).find(([key]) => key === name)?.[1];
  }
  return found;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    // A broken escape names nothing.
    return step;
  }
}
