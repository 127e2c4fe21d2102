/** Reads manifests that are kept as YAML. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeObject, parseYamlDocuments } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

/**
 * Returns the objects of a file of the repository, with values for the `${NAME}` in it: a text that is nothing else becomes the value, of
 * whatever type. Names without a value stay.
 */
export function manifestsIn(
  path: string,
  values: Readonly<Record<string, unknown>>,
): readonly DynamicObject[] {
  const fill = (_key: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    const [, name = ""] = /^\$\{(\w+)\}$/.exec(value) ?? [];
    return name in values
      ? values[name]
      : value.replaceAll(/\$\{(\w+)\}/g, (place, inner: string) => textAt(values, inner) ?? place);
  };
  const documents = parseYamlDocuments(readFileSync(join(repositoryRoot, path), "utf8"));
  return documents.map((document) => decodeObject(JSON.parse(JSON.stringify(document), fill), path));
}

/** Returns the only object of a file. Throws when it has none. */
export function manifestIn(path: string, values: Readonly<Record<string, unknown>>): DynamicObject {
  const [object] = manifestsIn(path, values);
  if (object === undefined) throw new Error(`${path} has no object`);
  return object;
}
