import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlacedYaml } from "@klutch/kube";
import { listAt, recordAt } from "@klutch/kube-core";
import fc from "fast-check";
import { manifestsOf } from "../render/manifests.ts";
import { generations } from "../generation.ts";
import { describeFault, readTable } from "../table/read-table.ts";
import type { ServiceTable } from "../table/service-table.ts";
import { catalogWith, specified } from "../testing/catalogs.ts";
import { tableFromCatalog } from "./from-catalog.ts";
import { CatalogError } from "./offered-service.ts";
import { parameterName } from "./parameter-name.ts";

/** The table, which must have no faults and go through the whole generator. */
function tableOf(
  document: unknown,
  choice: object = {},
): { readonly table: ServiceTable; readonly text: string; readonly warnings: string } {
  const { text, warnings } = tableFromCatalog(document, { source: "a test", ...choice });
  const { table, faults } = readTable(parsePlacedYaml(text));
  assert.deepEqual(
    faults.map((fault) => describeFault("table", fault)),
    [],
    text,
  );
  assert.ok(table !== undefined);
  for (const generation of generations) assert.ok(manifestsOf(generation, table).compositions.length > 0);
  for (const warning of warnings) assert.doesNotMatch(warning, /\p{C}/u);
  return { table, text, warnings: warnings.join("\n") };
}

function faultsOf(document: unknown, choice: object = {}): string {
  try {
    tableFromCatalog(document, { source: "a test", ...choice });
  } catch (error) {
    assert.ok(error instanceof CatalogError, String(error));
    return error.faults.join("\n");
  }
  return assert.fail("a table was written");
}

/** Parameters by the broker's name. */
function parametersOf(document: unknown): Readonly<Record<string, unknown>> {
  const { table } = tableOf(document);
  return Object.fromEntries(table.parameters.map(({ to, schema }) => [to["broker"]?.key ?? "", schema]));
}

const properties = (fields: object, more: object = {}): object => ({
  type: "object",
  properties: fields,
  ...more,
});

test("the specification's example becomes a table without faults", () => {
  const { table, text, warnings } = tableOf(specified);
  assert.equal(warnings, "");
  assert.equal(table.type, "fake-service");
  assert.equal(table.kind, "FakeServiceInstance");
  assert.equal(table.title, "The Fake Service Broker");
  const [backend] = table.backends;
  assert.deepEqual(
    backend?.plans.map(({ name }) => name),
    ["fake-plan-1", "fake-plan-2"],
  );
  assert.deepEqual(
    table.parameters.map(({ name, to }) => [name, to]),
    [["billingAccount", { broker: { key: "billing-account" } }]],
  );
  assert.match(text, /fake-plan-1 # an operation lasts at most 3600 s/);
  assert.match(text, /Instances can be fetched: yes; bindings can be fetched: yes/);
  assert.match(text, /the broker takes: billing-account/);
});

test("several services need a choice, which the error lists", () => {
  const one = recordAt(listAt(specified, "services")[0]);
  const two = {
    services: [one, { ...one, id: "2", name: "other-ms-1700000000", plans: [{ id: "3", name: "p" }] }],
  };
  assert.match(
    faultsOf(two),
    /has 2 services: choose one with --service: "fake-service", "other-ms-1700000000"/,
  );
  assert.match(faultsOf(two, { service: "third" }), /no service "third": it has "fake-service"/);
  assert.equal(tableOf(two, { service: "other" }).table.backends[0]?.services[0], "other");
});

test("duplicates, missing lists and unusable names are faults with field and value", () => {
  const plans = (...all: object[]): object => catalogWith(undefined, { plans: all });
  assert.match(
    faultsOf(plans({ id: "1", name: "a" }, { id: "1", name: "a" })),
    /services\[0\]\.plans\[1\]\.name: is "a", expected another name; services\[0\]\.plans\[0\] has it\n.*plans\[1\]\.id: is "1"/,
  );
  assert.match(faultsOf({}), /^services: is missing, expected the list of services$/);
  assert.match(faultsOf([]), /^services: is missing/);
  assert.match(faultsOf({ services: [] }), /^services: is a list of 0, expected at least one service/);
  assert.match(
    faultsOf(catalogWith(undefined, { name: "<b>\u001b[31mred" })),
    /^services\[0\]\.name: is "\[31mred", expected 1 to 64 letters/,
  );
  assert.match(faultsOf(plans()), /plans: is a list of 0, expected at least one plan/);
  const both = tableOf(plans({ id: "1", name: "a b\u0007" }, { id: "2", name: "right" }));
  assert.match(both.warnings, /plans\[0\]\.name is "a b": expected .*the plan is left out/);
});

test("ids that another service has, too, are faults of the chosen service", () => {
  const [one] = listAt(catalogWith(undefined, { id: "1", plans: [{ id: "a", name: "a" }] }), "services");
  const other = (ids: object): object => ({ services: [{ ...recordAt(one), name: "other", ...ids }, one] });
  const service = String(recordAt(one)["name"]);
  assert.match(
    faultsOf(other({ plans: [{ id: "a", name: "b" }] }), { service }),
    /^services\[1\]\.id: is "1", expected another id; services\[0\] has it\nservices\[1\]\.plans\[0\]\.id: is "a", expected another id; services\[0\]\.plans\[0\] has it$/,
  );
  assert.ok(tableOf(other({ id: "2", plans: [{ id: "b", name: "a" }] }), { service }).text.length > 0);
});

test("ten thousand plans are refused until some are named", () => {
  const plans = Array.from({ length: 10_000 }, (_, index) => ({ id: `i${index}`, name: `plan-${index}` }));
  const document = catalogWith(undefined, { plans });
  assert.match(
    faultsOf(document),
    /plans: has 10000 plans, expected at most 200; name those to offer with --plan/,
  );
  const { table } = tableOf(document, { plans: ["plan-7", "plan-9999"] });
  assert.deepEqual(
    table.backends[0]?.plans.map(({ name }) => name),
    ["plan-7", "plan-9999"],
  );
  assert.match(faultsOf(document, { plans: ["plan-x"] }), /has no plan "plan-x"/);
});

test("what cannot be kept is a warning with field and value, and the table stands without it", () => {
  const cases: readonly (readonly [schema: unknown, warning: RegExp])[] = [
    [
      { $ref: "https://example.org/a.json#/b" },
      /\$ref is "https:.*": it refers outside the catalog, and nothing is fetched/,
    ],
    [{ $ref: "#/properties/x" }, /\$ref is "#\/properties\/x": it refers to itself/],
    [{ $ref: "#/definitions/none" }, /nothing there/],
    [{ type: "array" }, /x\.items is missing: expected a schema with a type/],
    [{ type: ["string", "boolean"] }, /x\.type is a list of 2: expected one type/],
    [{ type: "string", enum: [1] }, /no value is of type string/],
    [{ type: "integer", minimum: 5, maximum: 1 }, /x\.minimum is 5: it is above the maximum 1/],
    [true, /x is true: expected a schema with a type/],
    [null, /x is null: expected a schema/],
  ];
  for (const [schema, warning] of cases) {
    const { table, warnings } = tableOf(catalogWith(properties({ x: schema, kept: { type: "string" } })));
    assert.match(warnings, warning);
    assert.deepEqual(
      table.parameters.map(({ name }) => name),
      ["kept"],
    );
  }
});

test("an enumeration of numbers is a rule, because the API server takes 1.5 for its 1", () => {
  const { level } = parametersOf(catalogWith(properties({ level: { type: "number", enum: [1, 2.5] } })));
  const rule = { rule: "self in [1.0, 2.5]", message: "Must be one of 1, 2.5" };
  assert.deepEqual(level, {
    description: "The broker's parameter level.",
    type: "number",
    "x-kubernetes-validations": [rule],
  });
});

test("keywords without a counterpart are warnings, and the parameter stays", () => {
  for (const [keyword, value] of Object.entries({ oneOf: [], not: {}, format: "ipv4", pattern: "(?=a)b" })) {
    const { table, warnings } = tableOf(catalogWith(properties({ x: { type: "string", [keyword]: value } })));
    assert.match(warnings, new RegExp(`x\\.${keyword} is .*only the broker checks it`));
    assert.equal(table.parameters.length, 1);
  }
});

test("a polling duration that is none is a warning; words of a stranger are one line without markup", () => {
  const { text, warnings } = tableOf(
    catalogWith(
      undefined,
      { description: "<script>alert(1)</script>\u001b[31m\nred\u202e: # {not} 'yaml'\n- x" },
      { maximum_polling_duration: -5, description: "a\u0000b\nplans: []" },
    ),
  );
  assert.match(warnings, /maximum_polling_duration is -5: expected whole seconds from 1/);
  assert.doesNotMatch(text.replaceAll("\n", ""), /script>|\p{C}/u);
  assert.match(text, /about: "a b plans: \[\]"/);
});

test("names that collide after normalizing are told, and the first keeps the name", () => {
  const text = { type: "string" };
  const { table, warnings } = tableOf(
    catalogWith(properties({ max_size: text, "max-size": text, "…": text, in: text })),
  );
  assert.match(warnings, /is "max-size": its name maxSize is that of "max_size"/);
  assert.match(warnings, /is "…": the parameter has no name/);
  assert.deepEqual(
    table.parameters.map(({ name }) => name),
    ["maxSize", "inValue"],
  );
  assert.equal(parameterName("HTTP-port"), "httpPort");
});

test("references inside the schema are followed, also of draft 7, and a tree that doubles itself ends", () => {
  const levels = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [
      `l${index}`,
      properties({
        a: { $ref: `#/$defs/l${index + 1}` },
        b: { $ref: `#/$defs/l${index + 1}` },
        c: { $ref: `#/$defs/l${index + 1}` },
      }),
    ]),
  );
  const defs = { port: { type: "integer", exclusiveMinimum: 0 }, ...levels, l9: { type: "string" } };
  const fields = { p: { $ref: "#/$defs/port" } };
  const found = parametersOf(catalogWith(properties(fields, { $defs: defs })));
  assert.deepEqual(found["p"], { description: "The broker's parameter p.", type: "integer", minimum: 1 });
  const { text, warnings } = tableOf(
    catalogWith(properties({ ...fields, x: { $ref: "#/$defs/l0" } }, { $defs: defs })),
  );
  assert.match(warnings, /too many parts/);
  assert.ok(text.length < 500_000, String(text.length));
});

test("plans that differ get rules, and what they have in common", () => {
  const plan = (name: string, fields: object, more: object = {}, rest: object = {}): object => ({
    id: name,
    name,
    schemas: { service_instance: { create: { parameters: properties(fields, more) } } },
    ...rest,
  });
  const plans = [
    plan(
      "small",
      { size: { type: "integer", maximum: 5 } },
      { additionalProperties: false },
      { plan_updateable: false },
    ),
    plan("big", { size: { type: "integer", maximum: 9 }, zone: { type: "string" } }, { required: ["zone"] }),
  ];
  const { table, text, warnings } = tableOf(catalogWith(undefined, { plans }));
  assert.match(warnings, /is "size": schemas of this parameter differ/);
  assert.equal(table.parameters.find(({ name }) => name === "size")?.schema["maximum"], undefined);
  const rules = table.backends[0]?.rules?.map(({ message }) => message);
  assert.deepEqual(rules, [
    "The broker cannot change the plan of an instance with this plan",
    "parameters.zone is required",
    "parameters.zone is not supported with this plan",
  ]);
  assert.match(text, /Decide: examples, with the required parameters/);
});

test("Cloud Service Broker's null for a missing schema is no warning, and its prohibitUpdate a rule", () => {
  const text = { type: "string" };
  const create = properties({
    domain: { ...text, prohibitUpdate: true },
    word: { ...text, prohibitUpdate: "yes" },
  });
  const schemas = {
    service_instance: { create: { parameters: create }, update: { parameters: null } },
    service_binding: { create: { parameters: null } },
  };
  const { table, warnings } = tableOf(catalogWith(undefined, {}, { schemas }));
  assert.equal(warnings, "");
  const rules = table.backends[0]?.rules?.map(({ message }) => message);
  assert.deepEqual(rules, ["parameters.domain cannot be changed after creation"]);
});

const keyword = fc.constantFrom(
  ..."type enum const items properties required minimum maximum exclusiveMinimum pattern $ref allOf title".split(
    " ",
  ),
  ..."description multipleOf minLength maxLength minItems maxItems additionalProperties __proto__".split(" "),
);
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>("object", "string", "integer", ["a"], "#", "#/properties/a", "\u0000", "(", {}),
);
const node = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    anything,
    fc.dictionary(keyword, fc.oneof(tie("node"), anything)),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(fc.string({ maxLength: 6 }), tie("node"), { maxKeys: 4 }),
    }),
  ),
})).node;

test("any schema and any words give a table without faults, or faults in words", () => {
  let tables = 0;
  fc.assert(
    fc.property(node, fc.dictionary(fc.string({ maxLength: 5 }), node), anything, (create, fields, words) => {
      const schemas = {
        service_instance: { create: { parameters: properties(fields) }, update: { parameters: create } },
      };
      tableOf(
        catalogWith(undefined, {
          description: words,
          metadata: words,
          plans: [{ id: "1", name: "one", description: words, schemas, plan_updateable: words }],
        }),
      );
      tables++;
      try {
        tableFromCatalog({ services: [create] }, { source: "a test" });
      } catch (error) {
        assert.ok(error instanceof CatalogError, String(error));
        assert.ok(error.faults.length > 0);
      }
    }),
    { numRuns: 400 },
  );
  assert.equal(tables, 400);
});
