/** The schema of a parameter or of a claim's field: a small part of what an API server takes, in the words of the table. */
import { isRecord, listAt, recordAt, textAt } from "@klutch/kube-core";
import {
  anyObject,
  anyValue,
  boolean,
  integer,
  isPattern,
  type JsonSchema,
  list,
  map,
  number,
  object,
  oneOf,
  type Problem,
  problemsOf,
  string,
  unknownFields,
  valueText,
} from "@klutch/schema";

const types = ["array", "boolean", "integer", "integer or string", "number", "object", "string"] as const;
type FieldType = (typeof types)[number];

/** One level of a schema; `items` and `properties` have levels of their own. */
const level = object(
  { type: oneOf(types) },
  {
    about: string({ minLength: 1, maxLength: 500 }),
    enum: list(anyValue(), { minItems: 1 }),
    minimum: number(),
    maximum: number(),
    pattern: string(),
    maxLength: integer({ minimum: 0 }),
    items: anyObject(),
    properties: map(anyObject()),
    required: list(string()),
    free: boolean(),
    default: anyValue(),
    rules: list(
      object({
        rule: string({ minLength: 1 }),
        message: string({ minLength: 1, maxLength: 500, pattern: "^[^\\x00-\\x1f\\x7f{}]*$" }),
      }),
    ),
  },
);

/** Types to which a keyword is limited; the other keywords apply to all types. */
const keywordTypes: Readonly<Record<string, readonly FieldType[]>> = {
  enum: ["string", "integer", "number"],
  minimum: ["integer", "number"],
  maximum: ["integer", "number"],
  pattern: ["string"],
  maxLength: ["string"],
  items: ["array"],
  properties: ["object"],
  required: ["object"],
  free: ["object"],
};

/** Lists all faults of a schema in the table. */
export function fieldSchemaProblems(value: unknown, field: string): readonly Problem[] {
  const own = [
    ...problemsOf(level.json, value, field),
    ...unknownFields(level.json, value, field),
    ...misplaced(value, field),
    ...contradictions(value, field),
  ];
  const { items, properties } = recordAt(value);
  return [
    ...own,
    ...(isRecord(items) ? fieldSchemaProblems(items, `${field}.items`) : []),
    ...Object.entries(isRecord(properties) ? properties : {})
      .filter(([, nested]) => isRecord(nested))
      .flatMap(([name, nested]) => fieldSchemaProblems(nested, `${field}.properties.${name}`)),
  ];
}

function misplaced(value: unknown, field: string): readonly Problem[] {
  const fields = recordAt(value);
  const type = types.find((known) => known === fields["type"]);
  if (type === undefined) return [];
  return Object.entries(keywordTypes)
    .filter(([keyword, fitting]) => fields[keyword] !== undefined && !fitting.includes(type))
    .map(([keyword, fitting]) => ({
      field: `${field}.${keyword}`,
      value: valueText(fields[keyword]),
      expected: `no ${keyword} with the type ${type}; it is for ${fitting.join(", ")}`,
    }));
}

function contradictions(value: unknown, field: string): readonly Problem[] {
  const problem = (name: string, expected: string): Problem => ({
    field: `${field}.${name}`,
    value: valueText(recordAt(value)[name]),
    expected,
  });
  const { type, items, properties, free, minimum, maximum } = recordAt(value);
  const pattern = textAt(value, "pattern");
  const names = Object.keys(recordAt(properties));
  const found: Problem[] = [];
  if (type === "array" && items === undefined) found.push(problem("items", "what the list holds"));
  if (type === "object" && properties === undefined && free !== true)
    found.push(problem("properties", "the object's fields, or free: true for any"));
  if (pattern !== undefined && !isPattern(pattern))
    found.push(problem("pattern", "a regular expression of RE2"));
  if (typeof minimum === "number" && typeof maximum === "number" && minimum > maximum)
    found.push(problem("minimum", `at most the maximum ${maximum}`));
  for (const [index, name] of listAt(value, "required").entries())
    if (typeof name === "string" && !names.includes(name))
      found.push({
        field: `${field}.required[${index}]`,
        value: valueText(name),
        expected: "a name of properties",
      });
  return [...found, ...wrongValues(value, field)];
}

/** Values of the schema itself that are not of its type. */
function wrongValues(value: unknown, field: string): readonly Problem[] {
  const fields = recordAt(value);
  if (!types.some((known) => known === fields["type"])) return [];
  const { default: preset, ...schema } = jsonSchema(fields);
  const ofType = { type: schema["type"] };
  return [
    ...listAt(value, "enum").flatMap((one, index) => problemsOf(ofType, one, `${field}.enum[${index}]`)),
    ...(preset === undefined ? [] : problemsOf(schema, preset, `${field}.default`)),
  ];
}

/** The JSON that goes into a CRD. Of a schema without problems; whatever else it is given, it does not throw. */
export function jsonSchema(value: unknown, about?: string): JsonSchema {
  const fields = recordAt(value);
  const text = about ?? textAt(fields, "about");
  const { items, properties, rules, free } = fields;
  return defined({
    description: text,
    ...(fields["type"] === "integer or string"
      ? { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true }
      : { type: fields["type"] }),
    default: fields["default"],
    minimum: fields["minimum"],
    maximum: fields["maximum"],
    pattern: fields["pattern"],
    maxLength: fields["maxLength"],
    enum: fields["enum"],
    items: isRecord(items) ? jsonSchema(items) : undefined,
    properties: isRecord(properties)
      ? Object.fromEntries(Object.entries(properties).map(([name, nested]) => [name, jsonSchema(nested)]))
      : undefined,
    required: fields["required"],
    "x-kubernetes-preserve-unknown-fields": free === true ? true : undefined,
    "x-kubernetes-validations": rules,
  });
}

function defined(value: Readonly<Record<string, unknown>>): JsonSchema {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
