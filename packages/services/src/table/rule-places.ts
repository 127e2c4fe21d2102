/** Finds the table entry of a definition's rule, for an API server's message about the rule. */
import { listAt, recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { serviceIn } from "../data-service.ts";
import { compositionName, type Generation } from "../generation.ts";
import { exceptOthers, onlyFor } from "../render/backend-rules.ts";
import { rulesOf } from "../render/rules.ts";
import type { CompositeResourceDefinition } from "../xrd.ts";
import { dataServiceOf, makingOf } from "./data-service-of.ts";
import type { ServiceTable } from "./service-table.ts";

/**
 * The table's field for a field of the claims' CustomResourceDefinition, as the API server writes it:
 * `spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[3].rule`. Undefined when no field of the table made it.
 */
export function ruleField(
  generation: Generation,
  table: ServiceTable,
  { spec }: CompositeResourceDefinition,
  field: string,
): string | undefined {
  const [version] = recordsAt(spec, "versions");
  const schema = recordAt(version, "schema", "openAPIV3Schema");
  const path = [...field.matchAll(/\.properties\[([^\]]+)\]|\.(items)\b/g)].map(
    ([, name, items]) => name ?? items ?? "",
  );
  const index = Number(/x-kubernetes-validations\[(\d+)\]/.exec(field)?.[1] ?? "0");
  const [first, ...inner] = path;
  if (first !== "spec") return undefined;
  const [name, own, ...rest] = inner;
  if (name === undefined) {
    const rules = listAt(recordAt(schema, "properties", "spec"), "x-kubernetes-validations");
    return ruleOfBackend(generation, table, textAt(rules[index], "rule"));
  }
  if (name !== "parameters") {
    return table.fields.some((known) => known.name === name)
      ? `spec.claim.fields.${name}.schema${nested([own ?? "", ...rest].filter((part) => part !== ""))}.rules[${index}].rule`
      : undefined;
  }
  const parameter = table.parameters.findIndex((known) => known.name === own);
  return parameter === -1
    ? undefined
    : `spec.parameters[${parameter}].schema${nested(rest)}.rules[${index}].rule`;
}

function nested(path: readonly string[]): string {
  return path.map((name) => (name === "items" ? ".items" : `.properties.${name}`)).join("");
}

function ruleOfBackend(
  generation: Generation,
  table: ServiceTable,
  text: string | undefined,
): string | undefined {
  const service = serviceIn(generation, dataServiceOf(table));
  for (const [number, backend] of table.backends.entries()) {
    const made = makingOf(table, backend);
    const making = { ...made, composition: compositionName(generation, made.composition) };
    const rules = backend.rules ?? [];
    const index = rules.findIndex((rule) =>
      rulesOf(table, { ...backend, rules: [rule] }).some((plain) =>
        [plain, onlyFor(generation, service, making, plain)].some(
          (one) => exceptOthers(generation, service, one).rule === text,
        ),
      ),
    );
    const kind = Object.keys(rules[index] ?? {}).find((key) => key !== "message");
    if (index !== -1)
      return `spec.backends[${number}].rules[${index}].${kind === "cel" ? "cel.expression" : kind}`;
  }
  return undefined;
}
