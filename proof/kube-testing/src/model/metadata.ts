/** `metadata` as the server reads and checks it. */
import { isDnsSubdomain } from "@klutch/kube-core";
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
  withFields,
} from "./json.ts";
import { metaFields, texts } from "./schema-parts.ts";

/** Drops unknown and empty fields of the metadata. */
export function cleanMeta(object: JsonObject): JsonObject {
  const kept: Record<string, Json> = {};
  for (const [name, value] of Object.entries(objectAt(object, "metadata"))) {
    if (!Object.hasOwn(metaFields, name) || isBlank(value)) continue;
    kept[name] = metaFields[name] === texts && isObject(value) ? withTexts(value) : value;
  }
  return withFields(object, { metadata: kept });
}

/** A null in a map of strings is read as the empty string. */
function withTexts(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, value ?? ""]));
}

/**
 * Returns the empty fields of the metadata. The outcome of an apply is stored with them, though they are never read again: the next
 * write that changes nothing else gets a new resource version all the same.
 */
export function blankMeta(object: JsonObject): JsonObject {
  const blanks = Object.entries(objectAt(object, "metadata")).filter(([, value]) => isBlank(value));
  return Object.fromEntries(blanks);
}

/** Returns true if Go leaves the value out of JSON: nulls, empty strings, empty lists and empty maps. */
export function isBlank(value: Json): boolean {
  if (isList(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === null || value === "";
}

const qualified = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const maxAnnotationBytes = 256 * 1024;

/** Everything that is wrong with an object's metadata. */
export function metaProblems(object: JsonObject, isName: (name: string) => boolean): readonly string[] {
  const name = textAt(object, "metadata", "name");
  const problems: string[] = [];
  if (name === "") problems.push("metadata.name: Required value: name or generateName is required");
  else if (!isName(name)) problems.push(`metadata.name: Invalid value: ${JSON.stringify(name)}`);
  for (const [key, value] of Object.entries(objectAt(object, "metadata", "labels"))) {
    const isFine =
      isQualified(key) && typeof value === "string" && value.length <= 63 && labelValue.test(value);
    if (!isFine) problems.push(`metadata.labels: Invalid value: ${JSON.stringify(key)}`);
  }
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(objectAt(object, "metadata", "annotations"))) {
    if (!isQualified(key.toLowerCase()))
      problems.push(`metadata.annotations: Invalid value: ${JSON.stringify(key)}`);
    annotationBytes += key.length + (typeof value === "string" ? value.length : 0);
  }
  if (annotationBytes > maxAnnotationBytes) problems.push("metadata.annotations: Too long");
  for (const finalizer of textsAt(object, "metadata", "finalizers")) {
    if (!isQualified(finalizer))
      problems.push(`metadata.finalizers: Invalid value: ${JSON.stringify(finalizer)}`);
  }
  for (const owner of objectsAt(object, "metadata", "ownerReferences")) {
    for (const field of ["apiVersion", "kind", "name", "uid"]) {
      if (textAt(owner, field) === "") problems.push(`metadata.ownerReferences.${field}: Required value`);
    }
  }
  return problems;
}

function isQualified(key: string): boolean {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  const prefix = key.slice(0, Math.max(slash, 0));
  return name.length <= 63 && qualified.test(name) && (slash < 0 || isDnsSubdomain(prefix));
}
