/** A structural schema as rows of a table: one row for each field. */
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";

type Json = Readonly<Record<string, unknown>>;

/** A part of a schema that has a place of its own on the page. */
export interface Shape {
  readonly title: string;
  /** Schemas that are this shape; the first one is shown. */
  readonly samples: readonly unknown[];
  /** Fields that a sample may have besides; they stand where the shape is named. */
  readonly extra?: readonly string[] | undefined;
}

/** Cells in Markdown. */
export interface FieldRow {
  readonly field: string;
  readonly type: string;
  readonly meaning: string;
}

/** All fields under `schema`, without apiVersion, kind and metadata. A field that is one of `shapes` only names it. */
export function fieldRows(schema: unknown, shapes: readonly Shape[], path = ""): readonly FieldRow[] {
  const record = recordAt(schema);
  const required: readonly unknown[] = Array.isArray(record["required"]) ? record["required"] : [];
  const rows: FieldRow[] =
    path === "" ? rulesOf(record).map((meaning) => row("(the object)", "", meaning)) : [];
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
  const { inner, suffix } = innermost(field);
  const shape = shapes.find(({ samples }) => samples.some((sample) => isSame(recordAt(sample), inner)));
  const type = shape === undefined ? typeOf(field) : typeOf(field).replace(/object$/, linkTo(shape.title));
  const cell = `\`${path}\``;
  const own = row(isRequired ? `**${cell}**` : cell, type, meaningOf(field));
  if (shape === undefined) return [own, ...fieldRows(inner, shapes, path + suffix)];
  const extra = Object.entries(recordAt(inner, "properties")).filter(([name]) => shape.extra?.includes(name));
  return [
    own,
    ...extra.flatMap(([name, value]) => rowsOf(`${path}${suffix}.${name}`, recordAt(value), shapes, true)),
  ];
}

/** Returns the type inside lists and maps, and the path's suffix for it. */
function innermost(field: Json): { readonly inner: Json; readonly suffix: string } {
  for (const [key, mark] of [
    ["items", "[]"],
    ["additionalProperties", "{}"],
  ] as const) {
    const below = recordAt(field[key]);
    if (Object.keys(below).length === 0) continue;
    const { inner, suffix } = innermost(below);
    return { inner, suffix: mark + suffix };
  }
  return { inner: field, suffix: "" };
}

/** Tells whether the two have the same fields; descriptions do not count. */
function isSame(sample: Json, field: Json): boolean {
  const names = Object.keys(recordAt(sample, "properties"));
  if (names.length === 0) return false;
  return JSON.stringify(recordAt(sample, "properties")) === JSON.stringify(recordAt(field, "properties"));
}

function typeOf(field: Json): string {
  const items = recordAt(field, "items");
  if (Object.keys(items).length > 0) return `list of ${typeOf(items)}`;
  const values = recordAt(field, "additionalProperties");
  if (Object.keys(values).length > 0) return `map of ${typeOf(values)}`;
  const { enum: values_, type } = field;
  if (Array.isArray(values_)) return values_.map((value) => `\`${String(value)}\``).join(", ");
  if (field["x-kubernetes-int-or-string"] === true) return "integer or string";
  const format = printed(field, "format");
  return `${printed(type) || "any"}${format === "" ? "" : ` (${format})`}`;
}

function meaningOf(field: Json): string {
  const parts = [printed(field, "description")];
  if (field["default"] !== undefined) parts.push(`Default \`${JSON.stringify(field["default"])}\`.`);
  if (field["pattern"] !== undefined) parts.push(`Pattern \`${printed(field, "pattern")}\`.`);
  for (const [key, word] of bounds) {
    if (typeof field[key] === "number") parts.push(`${word} ${field[key]}.`);
  }
  parts.push(...rulesOf(field), ...rulesOf(recordAt(field, "items")));
  return parts.filter((part) => part !== "").join(" ");
}

const bounds = [
  ["minimum", "At least"],
  ["maximum", "At most"],
  ["minLength", "Shortest"],
  ["maxLength", "Longest"],
  ["minItems", "Items at least"],
  ["maxItems", "Items at most"],
] as const;

function rulesOf(field: Json): readonly string[] {
  return recordsAt(field, "x-kubernetes-validations").map(({ message }) => `Rule: “${printed(message)}”.`);
}

function linkTo(title: string): string {
  return `[${title.toLowerCase()}](#${title.toLowerCase().replaceAll(" ", "-")})`;
}

/** Returns the text at the path as it stands on a page; nothing where there is none. */
export function printed(value: unknown, ...path: readonly string[]): string {
  return textAt(value, ...path) ?? "";
}

function row(field: string, type: string, meaning: string): FieldRow {
  return { field, type, meaning };
}
