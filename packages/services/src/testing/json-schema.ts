/** Judges values by JSON Schema, as far as tests need it; written without a look at what a table makes of a schema. */

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Answers whether the value is valid. `root` has the `definitions`. Throws for a keyword that it does not know. */
export function accepts(schema: unknown, value: unknown, root: Json): boolean {
  if (!isObject(schema)) return schema !== false;
  return Object.entries(schema).every(([keyword, argument]) => {
    const judge = judges[keyword];
    if (judge === undefined) throw new TypeError(`the judge does not know ${keyword}`);
    return judge({ argument, value, schema, root });
  });
}

interface Case {
  readonly argument: unknown;
  readonly value: unknown;
  readonly schema: Json;
  readonly root: Json;
}

/** A keyword says nothing about values of other types. */
function ofNumber(check: (value: number, argument: number, schema: Json) => boolean): (of: Case) => boolean {
  return ({ value, argument, schema }) => typeof value !== "number" || check(value, Number(argument), schema);
}

const lengthOf = (text: string): number => Array.from(text).length;

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  array: (value) => Array.isArray(value),
  object: isObject,
};

const judges: Readonly<Record<string, (of: Case) => boolean>> = {
  definitions: () => true,
  type: ({ argument, value }) =>
    (Array.isArray(argument) ? argument : [argument]).some((name) => types[String(name)]?.(value) === true),
  enum: ({ argument, value }) => Array.isArray(argument) && argument.includes(value),
  const: ({ argument, value }) => argument === value,
  minimum: ofNumber((value, least, { exclusiveMinimum }) =>
    exclusiveMinimum === true ? value > least : value >= least,
  ),
  maximum: ofNumber((value, most) => value <= most),
  exclusiveMinimum: ({ argument, value }) =>
    typeof argument !== "number" || typeof value !== "number" || value > argument,
  exclusiveMaximum: ofNumber((value, limit) => value < limit),
  multipleOf: ofNumber((value, step) => value % step === 0),
  minLength: ({ argument, value }) => typeof value !== "string" || lengthOf(value) >= Number(argument),
  maxLength: ({ argument, value }) => typeof value !== "string" || lengthOf(value) <= Number(argument),
  pattern: ({ argument, value }) =>
    typeof value !== "string" || new RegExp(String(argument), "u").test(value),
  minItems: ({ argument, value }) => !Array.isArray(value) || value.length >= Number(argument),
  maxItems: ({ argument, value }) => !Array.isArray(value) || value.length <= Number(argument),
  items: ({ argument, value, root }) =>
    !Array.isArray(value) || value.every((item) => accepts(argument, item, root)),
  required: ({ argument, value }) =>
    !isObject(value) ||
    !Array.isArray(argument) ||
    argument.every((name) => Object.hasOwn(value, String(name))),
  properties: ({ argument, value, root }) =>
    !isObject(value) ||
    !isObject(argument) ||
    Object.entries(argument).every(
      ([name, inner]) => !Object.hasOwn(value, name) || accepts(inner, value[name], root),
    ),
  additionalProperties: ({ argument, value, schema }) =>
    !isObject(value) ||
    argument !== false ||
    Object.keys(value).every(
      (name) => isObject(schema["properties"]) && Object.hasOwn(schema["properties"], name),
    ),
  $ref: ({ argument, value, root }) => {
    const [name = ""] = String(argument).split("/").slice(-1);
    const { definitions } = root;
    return accepts(isObject(definitions) ? definitions[name] : false, value, root);
  },
};
