/** Reads manifests and other documents that are kept as YAML. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeObject, parseYamlDocuments } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the documents of a file of the repository, with values for the `${NAME}` in it: a text that is nothing else becomes the value, of
 * whatever type. Names without a value stay.
 */
export function documentsIn(path: string, values: Values): readonly unknown[] {
  const fill = (_key: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    const [, name = ""] = /^\$\{(\w+)\}$/.exec(value) ?? [];
    return name in values
      ? values[name]
      : value.replaceAll(/\$\{(\w+)\}/g, (place, inner: string) => textAt(values, inner) ?? place);
  };
  const documents = parseYamlDocuments(readFileSync(join(repositoryRoot, path), "utf8"));
  return documents.map((document): unknown => JSON.parse(JSON.stringify(document), fill));
}

/** Returns the documents of a file of Kubernetes objects. */
export function manifestsIn(path: string, values: Values): readonly DynamicObject[] {
  return documentsIn(path, values).map((document) => decodeObject(document, path));
}

/** Returns the only object of a file. Throws when it has none. */
export function manifestIn(path: string, values: Values): DynamicObject {
  const [object] = manifestsIn(path, values);
  if (object === undefined) throw new Error(`${path} has no object`);
  return object;
}
