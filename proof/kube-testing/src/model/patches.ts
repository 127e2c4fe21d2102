/** JSON merge patch (RFC 7386) and JSON patch (RFC 6902). */
import { jsonEqual } from "@klutch/kube-core";
import { isList, isObject, type Json, type JsonObject, textAt } from "./json.ts";
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
  const value = operation["value"] ?? null;
  const op = textAt(operation, "op");
  switch (op) {
    case "add":
      return edit(document, path, "add", value);
    case "replace":
      return edit(document, path, "replace", value);
    case "remove":
      return edit(document, path, "remove", null);
    case "test": {
      const found = read(document, path);
      if (jsonEqual(found ?? null, value)) return document;
      throw unprocessable(`testing path ${textAt(operation, "path")} failed`);
    }
    case "move":
    case "copy": {
      const from = pointer(textAt(operation, "from"));
      const found = read(document, from);
      if (found === undefined) throw missing(from);
      const base = op === "move" ? edit(document, from, "remove", null) : document;
      return edit(base, path, "add", found);
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
  if (isList(document)) return editList(document, part, rest, path, change, value);
  if (!isObject(document)) throw missing(path);
  const exists = Object.hasOwn(document, part);
  const copy: Record<string, Json> = { ...document };
  if (rest.length > 0) {
    if (!exists) throw missing(path);
    copy[part] = edit(document[part] ?? null, rest, change, value);
  } else if (change === "remove") {
    if (!exists) throw missing(path);
    delete copy[part];
  } else {
    // A replace of a missing field adds it: RFC 6902 says otherwise, the server's library does not.
    copy[part] = value;
  }
  return copy;
}

function editList(
  items: readonly Json[],
  part: string,
  rest: readonly string[],
  path: readonly string[],
  change: Change,
  value: Json,
): Json {
  if (rest.length === 0 && change === "add" && part === "-") return [...items, value];
  const isInsert = rest.length === 0 && change === "add";
  const index = indexIn(items, part, isInsert ? 1 : 0);
  const limit = isInsert ? items.length : items.length - 1;
  if (!(index >= 0 && index <= limit)) throw missing(path);
  if (rest.length > 0) return items.with(index, edit(items[index] ?? null, rest, change, value));
  if (change === "replace") return items.with(index, value);
  return change === "remove" ? items.toSpliced(index, 1) : items.toSpliced(index, 0, value);
}
