/** Finds the fields of a value that an API server drops because the schema does not have them (pruning, KEP-95). */
import { SchemaReader } from "./reader.ts";
import type { JsonSchema } from "./schema.ts";
import { record } from "./view.ts";

/**
 * Paths of the fields that would be dropped, as `spec.claims[0].old`; nothing below a dropped field is listed. Throws `EffortError` when the
 * reader's effort is spent.
 */
export function prunedFields(
  schema: JsonSchema,
  value: unknown,
  field = "",
  reader: SchemaReader = new SchemaReader(),
): readonly string[] {
  reader.effort.spend(1);
  const view = reader.viewOf(schema);
  if (Array.isArray(value)) {
    const { items } = view;
    return items === undefined
      ? []
      : value.flatMap((item: unknown, index) => prunedFields(items, item, `${field}[${index}]`, reader));
  }
  const fields = record(value);
  if (fields === undefined) return [];
  return Object.entries(fields).flatMap(([name, item]) => {
    const path = field === "" ? name : `${field}.${name}`;
    const known = view.properties.get(name) ?? view.additionalProperties;
    if (known !== undefined) return prunedFields(known, item, path, reader);
    return view.preservesUnknown || view.type === undefined ? [] : [path];
  });
}
