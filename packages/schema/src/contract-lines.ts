/** A schema as lines of text, one for each field, so that a contract can be written and compared by hand. */
import { isRecord } from "./view.ts";

/** `path: type, required, default …, enum …, pattern …` for every field under `schema`, and one line for each CEL rule. */
export function contractLines(schema: unknown, path = ""): readonly string[] {
  if (!isRecord(schema)) return [];
  const lines: string[] = [];
  const rules: readonly unknown[] = Array.isArray(schema["x-kubernetes-validations"])
    ? schema["x-kubernetes-validations"]
    : [];
  for (const rule of rules.filter(isRecord)) lines.push(`${path} rule: ${String(rule["message"])}`);
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  for (const [name, field] of Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {})) {
    if (path === "" && ["apiVersion", "kind", "metadata"].includes(name)) continue;
    const own = path === "" ? name : `${path}.${name}`;
    lines.push(
      `${own}: ${describe(field)}${required.includes(name) ? ", required" : ""}`,
      ...contractLines(field, own),
    );
  }
  lines.push(...contractLines(schema["items"], `${path}[]`));
  if (isRecord(schema["additionalProperties"]))
    lines.push(...contractLines(schema["additionalProperties"], `${path}{}`));
  return lines;
}

function describe(field: unknown): string {
  if (!isRecord(field)) return "?";
  const facts: string[] = [typeof field["type"] === "string" ? field["type"] : "any"];
  if (isRecord(field["items"])) facts[0] = `list of ${describe(field["items"])}`;
  if (isRecord(field["additionalProperties"])) facts[0] = `map of ${describe(field["additionalProperties"])}`;
  if (field["x-kubernetes-preserve-unknown-fields"] === true) facts.push("free");
  for (const key of [
    "default",
    "enum",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "nullable",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
  ]) {
    if (field[key] !== undefined)
      facts.push(`${key.replace("x-kubernetes-", "")} ${JSON.stringify(field[key])}`);
  }
  return facts.join(" ");
}
