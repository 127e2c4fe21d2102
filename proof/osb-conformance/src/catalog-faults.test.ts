import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { catalogFaults, catalogRules } from "./catalog-faults.ts";
import { choosePlan } from "./plan-choice.ts";
import { goodOffering, goodPlans } from "./testing/memory-broker.ts";

test("a good catalog has no faults", () => {
  assert.deepEqual(catalogFaults({ services: [goodOffering] }), []);
  assert.deepEqual(catalogFaults({ services: [] }), []);
});

test("a fault names its place", () => {
  const [first, second] = goodPlans;
  const services = [{ ...goodOffering, bindable: "yes", plans: [first, { ...second, description: "" }] }];
  assert.deepEqual(catalogFaults({ services }), [
    { rule: "offering-fields", why: "services[0].bindable is missing or no truth value" },
    { rule: "plan-fields", why: "services[0].plans[1].description is missing, empty or no text" },
  ]);
});

test("versions are judged as semantic versions are", () => {
  const versions: readonly (readonly [unknown, boolean])[] = [
    ["1.2.3", true],
    ["2.1.1+abcdef", true],
    ["1.0.0-rc.1+x.y", true],
    ["1.2", false],
    ["01.2.3", false],
    ["v1.2.3", false],
    [1, false],
    [undefined, false],
  ];
  for (const [version, isGood] of versions) {
    const services = [{ ...goodOffering, plans: [{ ...goodPlans[0], maintenance_info: { version } }] }];
    assert.equal(catalogFaults({ services }).length === 0, isGood, String(version));
  }
});

test("schemas are judged by their name, their size and what they refer to", () => {
  const schemas: readonly (readonly [unknown, boolean])[] = [
    [{ $schema: "s", $ref: "#/definitions/a" }, true],
    [{ $schema: "s", properties: { a: { $ref: "https://elsewhere/" } } }, false],
    [{ $schema: "s", description: "x".repeat(64 * 1024) }, false],
    [{}, false],
    ["text", false],
  ];
  for (const [parameters, isGood] of schemas) {
    const plan = { ...goodPlans[0], schemas: { service_instance: { update: { parameters } } } };
    const services = [{ ...goodOffering, plans: [plan] }];
    assert.equal(catalogFaults({ services }).length === 0, isGood, JSON.stringify(parameters).slice(0, 99));
  }
});

test("any catalog has faults of the list or none, and a plan or a reason", () => {
  const name = fc.constantFrom(
    "services",
    "plans",
    "id",
    "name",
    "description",
    "bindable",
    "schemas",
    "maintenance_info",
    "requires",
    "maximum_polling_duration",
    "__proto__",
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, -1, "", "x", "a b"),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(name, tie("json"), { maxKeys: 6 }),
    ),
  }));
  fc.assert(
    fc.property(json, fc.option(fc.string(), { nil: undefined }), (body, plan) => {
      for (const { rule, why } of catalogFaults(body)) assert.ok(catalogRules.includes(rule) && why !== "");
      const choice = choosePlan(body, { plan });
      if (typeof choice !== "string") assert.ok(choice.serviceId !== "" && choice.planId !== "");
    }),
    { numRuns: 2_000 },
  );
});
