/** Whether the examples of a table are claims that its own definition takes. */
import { recordsAt, valueAt } from "@klutch/kube-core";
import { type JsonSchema, type Problem, problemsOf, unknownFields } from "@klutch/schema";
import { legacy } from "../generation.ts";
import { instanceXrd } from "../instance-xrd.ts";
import { dataServiceOf } from "./data-service-of.ts";
import type { ServiceTable } from "./service-table.ts";

/** Everything that the definition refuses in an example, as far as that can be said without CEL. */
export function exampleProblems(table: ServiceTable): readonly Problem[] {
  const schema = specSchema(table);
  return table.examples.flatMap(({ spec }, index) => {
    const field = `spec.examples[${index}].spec`;
    return [...problemsOf(schema, spec, field), ...unknownFields(schema, spec, field)];
  });
}

/** Of a claim's spec, with the field of Crossplane's that examples may have. */
function specSchema(table: ServiceTable): JsonSchema {
  const [version] = recordsAt(instanceXrd(legacy, dataServiceOf(table)).spec, "versions");
  const spec = valueAt(version, "schema", "openAPIV3Schema", "properties", "spec");
  const known = typeof spec === "object" && spec !== null ? { ...spec } : {};
  const properties = valueAt(spec, "properties");
  const compositionRef = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
  return { ...known, properties: { ...(typeof properties === "object" ? properties : {}), compositionRef } };
}
