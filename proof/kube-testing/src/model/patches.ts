/** JSON merge patch (RFC 7386) and JSON patch (RFC 6902). */
import { jsonEqual } from "@klutch/kube-core";
import { isList, isObject, type Json, type JsonObject, textAt, withFields } from "./json.ts";
import { badRequest, unprocessable } from "./status-errors.ts";

/** The target after a merge patch. */
export function mergePatched(target: Json | undefined, patch: Json): Json {
  if (!isObject(target)) return withoutNulls(patch);
  if (!isObject(patch)) return patch;
  const result: Record<string, Json> = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}

/** Nulls of a patch mean removal, also where there is nothing to remove; inside lists too, as the server's library has it. */
function withoutNulls(patch: Json): Json {
  if (isList(patch)) return patch.map((item) => withoutNulls(item));
  if (!isObject(patch)) return patch;
  const kept = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutNulls(value)]));
}

/** The target after all operations. Throws 422 when one cannot be carried out, 400 when it makes no sense. */
export function jsonPatched(target: Json, operations: readonly Json[]): Json {
  let value: Json = target;
  for (const operation of operations) {
    if (!isObject(operation)) throw badRequest("a JSON patch is a list of operations");
    value = carryOut(value, operation);
  }
  return value;
}

function carryOut(document: Json, operation: JsonObject): Json {
  const path = pointer(textAt(operation, "path"));
  const { value = null } = operation;
  const op = textAt(operation, "op");
  switch (op) {
    case "add":
    case "replace":
    case "remove":
      return edit(document, path, op, op === "remove" ? null : value);
    case "test":
      if (jsonEqual(read(document, path) ?? null, value)) return document;
      throw unprocessable(`testing path ${textAt(operation, "path")} failed`);
    case "move":
    case "copy": {
      const from = pointer(textAt(operation, "from"));
      const found = read(document, from);
      if (found === undefined) throw missing(from);
      return edit(op === "move" ? edit(document, from, "remove", null) : document, path, "add", found);
    }
    default:
      throw unprocessable(`Unexpected kind: ${JSON.stringify(op)}`);
  }
}

function pointer(path: string): readonly string[] {
  if (path === "") return [];
  return path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function missing(path: readonly string[]): Error {
  return unprocessable(`the path /${path.join("/")} does not exist`);
}

function indexIn(items: readonly Json[], part: string, extra = 0): number {
  const index = /^-?\d+$/.test(part) ? Number(part) : Number.NaN;
  return index < 0 ? index + items.length + extra : index;
}

function read(document: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document;
  for (const part of path) {
    if (isList(value)) value = value[indexIn(value, part)];
    else if (isObject(value)) value = Object.hasOwn(value, part) ? value[part] : undefined;
    else return undefined;
  }
  return value;
}

type Change = "add" | "replace" | "remove";

function edit(document: Json, path: readonly string[], change: Change, value: Json): Json {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  const isInner = rest.length > 0;
  if (isList(document)) {
    const isInsert = !isInner && change === "add";
    const index = isInsert && part === "-" ? document.length : indexIn(document, part, isInsert ? 1 : 0);
    if (!(index >= 0 && index < document.length + (isInsert ? 1 : 0))) throw missing(path);
    if (isInner) return document.with(index, edit(document[index] ?? null, rest, change, value));
    if (change === "replace") return document.with(index, value);
    return change === "remove" ? document.toSpliced(index, 1) : document.toSpliced(index, 0, value);
  }
  // A replace of a missing field adds it: RFC 6902 says otherwise, the server's library does not.
  const mustExist = isInner || change === "remove";
  if (!isObject(document) || (mustExist && !Object.hasOwn(document, part))) throw missing(path);
  if (isInner) return { ...document, [part]: edit(document[part] ?? null, rest, change, value) };
  return withFields(document, { [part]: change === "remove" ? undefined : value });
}
