/** Describes the values of a chart as data: values.yaml, its schema, its page and the arguments of the program are printed from it. */

/** A schema in JSON (draft 7, which every Helm 3 understands), without its description. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One value. */
export interface ChartValue {
  /** Names with dots between. */
  readonly path: string;
  /** One sentence. */
  readonly about: string;
  /** Names the type on the page. */
  readonly kind: string;
  readonly schema: JsonSchema;
  readonly default: unknown;
  /** Flag of the program that it is given to, without dashes, when it is set. */
  readonly flag?: string | undefined;
}

/** A heading over values whose paths begin with its own. */
export type ValueGroup = Pick<ChartValue, "path" | "about">;

/** Values in the order in which they are printed. A group stands before its values. */
export type ValueTable = readonly (ChartValue | ValueGroup)[];

/** A value without its path. */
export type Value = Omit<ChartValue, "path">;

/** Makes a table of values by path; a sentence alone is a group. */
export function rows(table: Readonly<Record<string, Value | string>>): ValueTable {
  return Object.entries(table).map(([path, value]) =>
    typeof value === "string" ? { path, about: value } : { path, ...value },
  );
}

/** Returns the values without the groups. */
export function valuesIn(table: ValueTable): readonly ChartValue[] {
  return table.filter((each) => "schema" in each);
}

/** A text; an empty one counts as not set. */
export function text(about: string, standard = "", flag?: string): Value {
  return { about, kind: "text", schema: { type: "string" }, default: standard, flag };
}

/** One of some words. */
export function oneOf(about: string, allowed: readonly string[], standard: string, flag?: string): Value {
  return {
    about,
    kind: allowed.join(", "),
    schema: { type: "string", enum: allowed },
    default: standard,
    flag,
  };
}

/** True or false. */
export function toggle(about: string, standard = false, flag?: string): Value {
  return { about, kind: "true or false", schema: { type: "boolean" }, default: standard, flag };
}

/** True, false, or null for what the chart finds out. */
export function optionalToggle(about: string): Value {
  return { about, kind: "true, false or null", schema: { type: ["boolean", "null"] }, default: null };
}

/** A whole number of at least 1. */
export function wholeNumber(about: string, standard: number, flag?: string): Value {
  return { about, kind: "number", schema: { type: "integer", minimum: 1 }, default: standard, flag };
}

/** A whole number, or null for what the program does without it. */
export function optionalNumber(
  about: string,
  {
    minimum = 0,
    maximum,
    flag,
  }: { readonly minimum?: number; readonly maximum?: number; readonly flag?: string },
): Value {
  const schema = { type: ["integer", "null"], minimum, maximum };
  return { about, kind: "number or null", schema, default: null, flag };
}

/** Any number of texts. */
export function texts(about: string, flag?: string): Value {
  const schema = { type: "array", items: { type: "string", minLength: 1 } };
  return { about, kind: "list of texts", schema, default: [], flag };
}

/** Texts by name, such as labels. */
export function textMap(about: string): Value {
  const schema = { type: "object", additionalProperties: { type: "string" } };
  return { about, kind: "map of texts", schema, default: {} };
}

/** A part of a Kubernetes object, which the API server judges; `of` is its type there. */
export function part(about: string, of: string, standard: object = {}): Value {
  return { about, kind: of, schema: { type: "object" }, default: standard };
}

/** A list of such parts. */
export function parts(about: string, of: string, standard: readonly object[] = []): Value {
  const schema = { type: "array", items: { type: "object" } };
  return { about, kind: `list of ${of}`, schema, default: standard };
}
