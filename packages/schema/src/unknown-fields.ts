/** Fields that a schema does not know, for values that a person wrote: what an API server drops in silence is a mistake there. */
import { SchemaReader } from "./reader.ts";
import type { JsonSchema } from "./schema.ts";
import { type Problem, valueText } from "./validate.ts";
import { record } from "./view.ts";

/** Reports each unknown field and names the existing ones. It does not look below such a field. */
export function unknownFields(
  schema: JsonSchema,
  value: unknown,
  field = "",
  reader: SchemaReader = new SchemaReader(),
): readonly Problem[] {
  const view = reader.viewOf(schema);
  if (Array.isArray(value)) {
    const { items } = view;
    return items === undefined
      ? []
      : value.flatMap((item: unknown, index) => unknownFields(items, item, `${field}[${index}]`, reader));
  }
  const fields = record(value);
  // An object in the place of something else is a problem of its type.
  if (fields === undefined || view.type !== "object") return [];
  return Object.entries(fields).flatMap(([name, item]) => {
    const path = field === "" ? name : `${field}.${name}`;
    const known = view.properties.get(name) ?? view.additionalProperties;
    if (known !== undefined) return unknownFields(known, item, path, reader);
    if (view.preservesUnknown) return [];
    const names = view.properties.keys().toArray().toSorted();
    const expected = names.length === 0 ? "no field here" : `one of the fields ${names.join(", ")}`;
    return [{ field: path, value: valueText(item), expected }];
  });
}
