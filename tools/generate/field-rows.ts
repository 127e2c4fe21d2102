/** A structural schema as rows of a table: one row for each field. */
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { anchorOf } from "../docs/places.ts";

type Json = Readonly<Record<string, unknown>>;

/** A part of a schema that has a place of its own on the page. */
export interface Shape {
  readonly title: string;
  /** Schemas that are this shape; the first one is shown. */
  readonly samples: readonly unknown[];
  /** Fields that a sample may have besides; they stand where the shape is named. */
  readonly extra?: readonly string[] | undefined;
}

/** Cells in Markdown: field, type and meaning. */
export type FieldRow = readonly [field: string, type: string, meaning: string];

/** All fields under `schema`, without apiVersion, kind and metadata. A field that is one of `shapes` only names it. */
export function fieldRows(schema: unknown, shapes: readonly Shape[], path = ""): readonly FieldRow[] {
  const record = recordAt(schema);
  const required: readonly unknown[] = Array.isArray(record["required"]) ? record["required"] : [];
  const rows: FieldRow[] = path === "" ? rulesOf(record).map((meaning) => ["(the object)", "", meaning]) : [];
  for (const [name, field] of Object.entries(recordAt(record, "properties"))) {
    if (path === "" && objectFields.has(name)) continue;
    const own = path === "" ? name : `${path}.${name}`;
    rows.push(...rowsOf(own, recordAt(field), shapes, required.includes(name)));
  }
  return rows;
}

const objectFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

function rowsOf(
  path: string,
  field: Json,
  shapes: readonly Shape[],
  isRequired: boolean,
): readonly FieldRow[] {
  const { inner, suffix, prefix } = innermost(field);
  const shape = shapes.find(({ samples }) => samples.some((sample) => isSame(recordAt(sample), inner)));
  const link = shape && `[${shape.title.toLowerCase()}](#${anchorOf(shape.title)})`;
  const type = prefix + (link ?? typeOf(inner));
  const cell = `\`${path}\``;
  const own: FieldRow = [isRequired ? `**${cell}**` : cell, type, meaningOf(field)];
  if (shape === undefined) return [own, ...fieldRows(inner, shapes, path + suffix)];
  const extra = Object.entries(recordAt(inner, "properties")).filter(([name]) => shape.extra?.includes(name));
  return [
    own,
    ...extra.flatMap(([name, value]) => rowsOf(`${path}${suffix}.${name}`, recordAt(value), shapes, true)),
  ];
}

/** Keys of the types inside lists and maps, with the suffix of a path and the words of a type. */
const containers = [
  ["items", "[]", "list of"],
  ["additionalProperties", "{}", "map of"],
] as const;

/** Returns the type inside lists and maps, the path's suffix for it, and the words in front of the type's name. */
function innermost(field: Json): Readonly<Record<"suffix" | "prefix", string>> & { readonly inner: Json } {
  const found = containers.find(([key]) => Object.keys(recordAt(field, key)).length > 0);
  if (found === undefined) return { inner: field, suffix: "", prefix: "" };
  const [key, mark, words] = found;
  const { inner, suffix, prefix } = innermost(recordAt(field, key));
  return { inner, suffix: mark + suffix, prefix: `${words} ${prefix}` };
}

/** Tells whether the two have the same fields; descriptions do not count. */
function isSame(sample: Json, field: Json): boolean {
  const names = JSON.stringify(recordAt(sample, "properties"));
  return names !== "{}" && names === JSON.stringify(recordAt(field, "properties"));
}

function typeOf(field: Json): string {
  const { enum: values, type } = field;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (field["x-kubernetes-int-or-string"] === true) return "integer or string";
  const format = printed(field, "format");
  return `${printed(type) || "any"}${format === "" ? "" : ` (${format})`}`;
}

function meaningOf(field: Json): string {
  const { default: fallback, pattern } = field;
  const parts = [
    printed(field, "description"),
    fallback === undefined ? "" : `Default \`${JSON.stringify(fallback)}\`.`,
    pattern === undefined ? "" : `Pattern \`${printed(field, "pattern")}\`.`,
    ...Object.entries(bounds).map(([key, word]) =>
      typeof field[key] === "number" ? `${word} ${field[key]}.` : "",
    ),
    ...rulesOf(field),
    ...rulesOf(recordAt(field, "items")),
  ];
  return parts.filter((part) => part !== "").join(" ");
}

const bounds = {
  minimum: "At least",
  maximum: "At most",
  minLength: "Shortest",
  maxLength: "Longest",
  minItems: "Items at least",
  maxItems: "Items at most",
};

function rulesOf(field: Json): readonly string[] {
  return recordsAt(field, "x-kubernetes-validations").map(({ message }) => `Rule: “${printed(message)}”.`);
}

/** Returns the text at the path as it stands on a page; nothing where there is none. */
export function printed(value: unknown, ...path: readonly string[]): string {
  return textAt(value, ...path) ?? "";
}
