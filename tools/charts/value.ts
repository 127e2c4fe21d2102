/** What a chart can be told, as data: values.yaml, its schema, the page about it and the arguments of the program are printed from it. */

/** A schema in JSON (draft 7, which every Helm 3 understands), without its description. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One value. */
export interface ChartValue {
  /** Names with dots between. */
  readonly path: string;
  /** One sentence. */
  readonly about: string;
  /** What it is, on the page. */
  readonly kind: string;
  readonly schema: JsonSchema;
  readonly default: unknown;
  /** Flag of the program that it is given to, without dashes, when it is set. */
  readonly flag?: string | undefined;
}

/** A heading over values whose paths begin with its own. */
export interface ValueGroup {
  readonly path: string;
  readonly about: string;
}

/** A table of values in the order in which they are printed. A group stands before its values. */
export type ValueTable = readonly (ChartValue | ValueGroup)[];

type Words = Pick<ChartValue, "path" | "about" | "flag">;

/** Values alone. */
export function valuesIn(table: ValueTable): readonly ChartValue[] {
  return table.filter((each) => "schema" in each);
}

/** A text; an empty one counts as not set. */
export function text(words: Words, standard = ""): ChartValue {
  return { ...words, kind: "text", schema: { type: "string" }, default: standard };
}

/** One of some words. */
export function oneOf(words: Words, allowed: readonly string[], standard: string): ChartValue {
  return { ...words, kind: allowed.join(", "), schema: { type: "string", enum: allowed }, default: standard };
}

/** True or false. */
export function toggle(words: Words, standard = false): ChartValue {
  return { ...words, kind: "true or false", schema: { type: "boolean" }, default: standard };
}

/** True, false, or null for what the chart finds out. */
export function optionalToggle(words: Words): ChartValue {
  return { ...words, kind: "true, false or null", schema: { type: ["boolean", "null"] }, default: null };
}

/** A whole number. */
export function wholeNumber(words: Words, standard: number, minimum = 1): ChartValue {
  return { ...words, kind: "number", schema: { type: "integer", minimum }, default: standard };
}

/** A whole number, or null for what the program does without it. */
export function optionalNumber(words: Words, minimum: number, maximum?: number): ChartValue {
  const schema = { type: ["integer", "null"], minimum, maximum };
  return { ...words, kind: "number or null", schema, default: null };
}

/** Any number of texts. */
export function texts(words: Words): ChartValue {
  const schema = { type: "array", items: { type: "string", minLength: 1 } };
  return { ...words, kind: "list of texts", schema, default: [] };
}

/** Texts by name, such as labels. */
export function textMap(words: Words): ChartValue {
  const schema = { type: "object", additionalProperties: { type: "string" } };
  return { ...words, kind: "map of texts", schema, default: {} };
}

/** A part of a Kubernetes object, which the API server judges; `of` is its type there. */
export function part(words: Words, of: string, standard: object = {}): ChartValue {
  return { ...words, kind: of, schema: { type: "object" }, default: standard };
}

/** A list of such parts. */
export function parts(words: Words, of: string, standard: readonly object[] = []): ChartValue {
  const schema = { type: "array", items: { type: "object" } };
  return { ...words, kind: `list of ${of}`, schema, default: standard };
}

/** Names of objects, as Kubernetes writes them: a list of `{name: …}`. */
export function references(words: Words): ChartValue {
  const name = { type: "string", minLength: 1 };
  const items = { type: "object", required: ["name"], additionalProperties: false, properties: { name } };
  const kind = "list of LocalObjectReference";
  return { ...words, kind, schema: { type: "array", items }, default: [] };
}
