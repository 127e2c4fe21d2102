import assert from "node:assert/strict";
import { test } from "node:test";
import { listAt, recordAt, valueAt } from "@klutch/kube-core";
import { string } from "@klutch/schema";
import { legacy } from "./generation.ts";
import { instanceInput, readInstanceInput } from "./instance-input.ts";
import { instanceXrd } from "./instance-xrd.ts";
import { services } from "./list.ts";
import { shippedTables } from "./shipped-tables.ts";
import { dataServiceOf } from "./table/data-service-of.ts";
import type { ServiceTable } from "./table/service-table.ts";

const table: ServiceTable =
  shippedTables().find(({ type }) => type === "postgresql") ?? assert.fail("no table");

function regionOf(changed: ServiceTable): { readonly description: unknown; readonly rules: number } {
  const [version] = listAt(instanceXrd(legacy, dataServiceOf(changed)).spec, "versions");
  const spec = recordAt(version, "schema", "openAPIV3Schema", "properties", "spec");
  const rules = listAt(spec, "x-kubernetes-validations").filter(
    (rule) => recordAt(rule)["fieldPath"] === ".region",
  );
  return { description: valueAt(spec, "properties", "region", "description"), rules: rules.length };
}

test("a service with a broker has the field and its rule; objects in the cluster refuse it", () => {
  const { description, rules } = regionOf(table);
  assert.match(String(description), /cannot be changed/);
  // One keeps it, one refuses it beside the Composition of objects.
  assert.equal(rules, 2);
});

test("a service without a broker has no region", () => {
  const backends = table.backends.filter(({ broker }) => broker === undefined);
  assert.deepEqual(regionOf({ ...table, backends: backends.map((one) => ({ ...one, default: true })) }), {
    description: undefined,
    rules: 0,
  });
});

test("a table with a field of its own called region keeps it, and tells the function", () => {
  const schema = string({ description: "Ours." }).json;
  const own = { ...table, fields: [...table.fields, { name: "region", schema }] };
  assert.deepEqual(regionOf(own), { description: "Ours.", rules: 0 });
  const input = instanceInput(dataServiceOf(own));
  assert.equal(input.takesRegion, false);
  assert.equal(valueAt(readInstanceInput(input), "takesRegion"), false);
});

test("the inputs of shipped services are those of the release before, which mean the choice among brokers", () => {
  for (const service of services()) {
    const input = instanceInput(service);
    assert.ok(!Object.hasOwn(input, "takesRegion"));
    assert.equal(valueAt(readInstanceInput(input), "takesRegion"), true);
  }
  const wrong = { ...instanceInput(dataServiceOf(table)), takesRegion: "no" };
  assert.match(String(valueAt(readInstanceInput(wrong), "problem")), /input\.takesRegion/);
});
