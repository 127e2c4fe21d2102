/** Checks that a table's own definition accepts its examples. */
import { recordsAt, valueAt } from "@klutch/kube-core";
import { type JsonSchema, type Problem, problemsOf, unknownFields } from "@klutch/schema";
import { legacy } from "../generation.ts";
import { instanceXrd } from "../instance-xrd.ts";
import { dataServiceOf } from "./data-service-of.ts";
import type { ServiceTable } from "./service-table.ts";

/** Lists all faults that the definition finds in an example without evaluating CEL. */
export function exampleProblems(table: ServiceTable): readonly Problem[] {
  const schema = specSchema(table);
  return table.examples.flatMap(({ spec }, index) => {
    const field = `spec.examples[${index}].spec`;
    return [...problemsOf(schema, spec, field), ...unknownFields(schema, spec, field)];
  });
}

/** Returns the schema of a claim's spec, with the field of Crossplane that examples may set. */
function specSchema(table: ServiceTable): JsonSchema {
  const [version] = recordsAt(instanceXrd(legacy, dataServiceOf(table)).spec, "versions");
  const spec = valueAt(version, "schema", "openAPIV3Schema", "properties", "spec");
  const known = typeof spec === "object" && spec !== null ? { ...spec } : {};
  const properties = valueAt(spec, "properties");
  const compositionRef = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
  return { ...known, properties: { ...(typeof properties === "object" ? properties : {}), compositionRef } };
}
