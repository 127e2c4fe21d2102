import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parsePlacedYaml } from "@klutch/kube";
import { listAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import fc from "fast-check";
import { generations, legacy } from "../generation.ts";
import { manifestsOf } from "../render/manifests.ts";
import { readTable } from "./read-table.ts";
import { ruleField } from "./rule-places.ts";

function tableOf(type: string): NonNullable<ReturnType<typeof readTable>["table"]> {
  const path = join(import.meta.dirname, "..", "..", "..", "..", "services", type, "service.yaml");
  const { table } = readTable(parsePlacedYaml(readFileSync(path, "utf8")));
  assert.ok(table !== undefined);
  return table;
}

const start = "spec.validation.openAPIV3Schema.properties[spec]";

test("each rule of a backend is found again in the definition that is made of it", () => {
  const types = ["postgresql", "keyvalue", "prometheus"];
  for (const [type, generation] of types.flatMap((one) => generations.map((in_) => [one, in_] as const))) {
    const table = tableOf(type);
    const { xrd } = manifestsOf(generation, table);
    const [version] = recordsAt(xrd.spec, "versions");
    const spec = valueAt(version, "schema", "openAPIV3Schema", "properties", "spec");
    const fields = listAt(spec, "x-kubernetes-validations").flatMap((rule, index) => {
      assert.ok(textAt(rule, "rule") !== undefined);
      return ruleField(generation, table, xrd, `${start}.x-kubernetes-validations[${index}].rule`) ?? [];
    });
    const rules = new Set(fields.map((field) => /^spec\.backends\[0\]\.rules\[(\d+)\]/.exec(field)?.[1]));
    assert.equal(rules.size, table.backends[0]?.rules?.length);
  }
});

test("rules of parameters are found however deep they stand, and what no table says is not", () => {
  const table = tableOf("mongodb");
  const { xrd } = manifestsOf(legacy, table);
  const inside = ["setClusterParameter", "changeStreamOptions", "preAndPostImages", "expireAfterSeconds"];
  const path = ["parameters", ...inside].map((name) => `.properties[${name}]`).join("");
  assert.equal(
    ruleField(legacy, table, xrd, `${start}${path}.x-kubernetes-validations[0].rule`),
    "spec.parameters[0].schema.properties.changeStreamOptions.properties.preAndPostImages.properties.expireAfterSeconds.rules[0].rule",
  );
  for (const field of [
    `${start}.properties[service].x-kubernetes-validations[0].rule`,
    `${start}.properties[parameters].properties[other].x-kubernetes-validations[0].rule`,
    "spec.versions[0].additionalPrinterColumns[0].jsonPath",
    "",
  ])
    assert.equal(ruleField(legacy, table, xrd, field), undefined, field);
});

test("whatever an API server calls a field, nothing throws", () => {
  const table = tableOf("logme2");
  const { xrd } = manifestsOf(legacy, table);
  const part = fc.constantFrom(
    start,
    ".properties[",
    "spec",
    "parameters",
    "groks",
    "]",
    ".items",
    "x-kubernetes-validations[",
    "9",
    "]",
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const field = ruleField(legacy, table, xrd, parts.join(""));
      assert.ok(field === undefined || field.startsWith("spec."));
    }),
  );
});
