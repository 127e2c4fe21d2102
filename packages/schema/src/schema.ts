/**
 * Builders for structural schemas, the subset of OpenAPI v3 that CustomResourceDefinitions accept
 * (Kubernetes docs, "Specifying a structural schema"). A schema knows the TypeScript type of the values it accepts.
 */

/** The JSON that goes into a CRD. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema for values of `T`; invariant, so that a declared type must be exactly what the schema accepts. */
export interface Schema<T> {
  readonly json: JsonSchema;
  readonly accepts?: (value: T) => T;
}

/** The type of a schema's values. */
export type Infer<S> = S extends Schema<infer T> ? T : never;

/** A CEL rule (KEP-2876). */
export interface Rule {
  readonly rule: string;
  readonly message?: string | undefined;
  /** CEL expression that builds the message. If it fails, the server reports `message`. */
  readonly messageExpression?: string | undefined;
  /** Field below the schema that the error names, such as `.plan`. Default: where the rule stands. */
  readonly fieldPath?: string | undefined;
  /** `oldSelf` is an optional value, and the rule also holds when there was none before (Kubernetes 1.30). Default false. */
  readonly optionalOldSelf?: boolean | undefined;
}

/** Options of every schema. */
export interface CommonOptions {
  readonly description?: string | undefined;
  readonly rules?: readonly Rule[] | undefined;
}

interface StringOptions extends CommonOptions {
  readonly default?: string | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
}

interface NumberOptions extends CommonOptions {
  readonly default?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly format?: "int32" | "int64" | "double" | undefined;
}

/** Text. */
export function string(options: StringOptions = {}): Schema<string> {
  return build("string", options);
}

/** Returns the schema of a closed set of texts. */
export function oneOf<const V extends readonly string[]>(
  values: V,
  options: CommonOptions & { readonly default?: V[number] | undefined } = {},
): Schema<V[number]> {
  return build("string", { ...options, enum: values });
}

/** A whole number. */
export function integer(options: NumberOptions = {}): Schema<number> {
  return build("integer", options);
}

/** Any number. */
export function number(options: NumberOptions = {}): Schema<number> {
  return build("number", options);
}

/** Returns the schema of a boolean. */
export function boolean(
  options: CommonOptions & { readonly default?: boolean | undefined } = {},
): Schema<boolean> {
  return build("boolean", options);
}

/** Options of a list. */
export interface ListOptions extends CommonOptions {
  readonly default?: readonly unknown[] | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  /** Merge strategy of server-side apply. Default: atomic, as in the API server. */
  readonly listType?: "atomic" | "set" | "map" | undefined;
  readonly mapKeys?: readonly string[] | undefined;
}

/** A list of equal items. */
export function list<T>(item: Schema<T>, options: ListOptions = {}): Schema<readonly T[]> {
  const { listType, mapKeys, ...rest } = options;
  return build("array", {
    ...rest,
    items: item.json,
    "x-kubernetes-list-type": listType,
    "x-kubernetes-list-map-keys": mapKeys,
  });
}

/** Any keys, equal values. */
export function map<T>(value: Schema<T>, options: CommonOptions = {}): Schema<Readonly<Record<string, T>>> {
  return build("object", { ...options, additionalProperties: value.json });
}

/** Returns the schema of an object whose content is kept as it is. */
export function anyObject(
  options: CommonOptions & { readonly mapType?: "atomic" | undefined } = {},
): Schema<Readonly<Record<string, unknown>>> {
  const { mapType, ...rest } = options;
  return build("object", {
    ...rest,
    "x-kubernetes-map-type": mapType,
    "x-kubernetes-preserve-unknown-fields": true,
  });
}

/** A whole Kubernetes object inside another one: apiVersion, kind and metadata are checked, the rest is kept as it is. */
export function embedded(options: CommonOptions = {}): Schema<Readonly<Record<string, unknown>>> {
  return build("object", {
    ...options,
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  });
}

/** Any JSON value, kept as it is. */
export function anyValue(options: CommonOptions = {}): Schema<unknown> {
  return { json: clean({ ...common(options), "x-kubernetes-preserve-unknown-fields": true }) };
}

/** The same schema with this text for people. */
export function described<T>(schema: Schema<T>, description: string): Schema<T> {
  const { description: _before, ...rest } = schema.json;
  return { json: { description, ...rest } };
}

/** Returns a schema that also accepts null. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return { json: { ...schema.json, nullable: true } };
}

/** A number or a text such as `50%`. */
export function integerOrString(options: CommonOptions = {}): Schema<number | string> {
  return {
    json: clean({
      ...common(options),
      anyOf: [{ type: "integer" }, { type: "string" }],
      "x-kubernetes-int-or-string": true,
    }),
  };
}

type Fields = Readonly<Record<string, { readonly json: JsonSchema }>>;

/** The value type of an object schema with required and optional fields. */
export type ObjectOf<R, O> = { readonly [K in keyof R]: Infer<R[K]> } & {
  readonly [K in keyof O]?: Infer<O[K]> | undefined;
};

/** Options of an object. */
export interface ObjectOptions extends CommonOptions {
  readonly default?: Readonly<Record<string, unknown>> | undefined;
  /** Fields that the schema does not name are kept. Default false. */
  readonly keepsUnknown?: boolean | undefined;
}

/** An object with required and optional fields, printed in the order given. */
export function object<R extends Fields>(required: R): Schema<ObjectOf<R, unknown>>;
export function object<R extends Fields, O extends Fields>(
  required: R,
  optional: O,
  options?: ObjectOptions,
): Schema<ObjectOf<R, O>>;
export function object(
  required: Fields,
  optional: Fields = {},
  options: ObjectOptions = {},
): { readonly json: JsonSchema } {
  const fields = { ...required, ...optional };
  const { keepsUnknown, ...rest } = options;
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.json]));
  const names = Object.keys(required);
  return build("object", {
    ...rest,
    properties,
    required: names.length === 0 ? undefined : names,
    "x-kubernetes-preserve-unknown-fields": keepsUnknown === true ? true : undefined,
  });
}

function build<T, X extends CommonOptions = CommonOptions>(type: string, options: X): Schema<T> {
  const { description: _description, rules: _rules, ...rest } = options;
  return { json: clean({ type, ...rest, ...common(options) }) };
}

function common(options: CommonOptions): Readonly<Record<string, unknown>> {
  return {
    description: options.description,
    "x-kubernetes-validations": options.rules?.map((rule) => clean({ ...rule })),
  };
}

function clean(value: Readonly<Record<string, unknown>>): JsonSchema {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
