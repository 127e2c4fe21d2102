import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatYaml, parsePlacedYaml, parseYaml } from "@klutch/kube";
import fc from "fast-check";
import { faultsOf, replaced, tableHead } from "../testing/table-text.ts";
import { describeFault, readTable } from "./read-table.ts";

const shipped = readFileSync(
  join(import.meta.dirname, "..", "..", "..", "..", "services", "postgresql", "service.yaml"),
  "utf8",
);

/** A small table that is right. */
const small = `${tableHead}    fields:
      zone: { about: Where it runs., schema: { type: string, enum: [a, b] } }
  sizes: [{ word: small }, { word: big }]
  backends:
    - name: a9s
      default: true
      broker: {}
      services: [example1]
      plans:
        - name: example-small
        - name: example-big
      rules:
        - neverSmaller: {}
        - immutable: { field: zone }
  parameters:
    - name: words
      about: Some words.
      to: { a9s: words }
      schema: { type: array, items: { type: string, maxLength: 5 } }
  credentials:
    keys: [host, port]
    connection: [{ label: Example, from: host, form: host, port: port }]
  examples:
    - file: example-instance
      about: A small one.
      name: one
      spec: { service: example1, plan: example-small, parameters: { words: [one, two] } }
`;

/** The small table with one piece of its text replaced. */
const changed = (piece: string, by: string): string => replaced(small, piece, by);

test("a table that is right has no faults, and says what its file says", () => {
  const { table, faults } = readTable(parsePlacedYaml(small));
  assert.deepEqual(faults, []);
  assert.equal(table?.type, "example");
  assert.deepEqual(table.parameters[0]?.to, { a9s: { key: "words" } });
  assert.deepEqual(table.fields[0]?.schema, {
    description: "Where it runs.",
    type: "string",
    enum: ["a", "b"],
  });
});

const cases: readonly (readonly [what: string, piece: string, by: string, fault: string])[] = [
  [
    "a plan that stands twice",
    "- name: example-big",
    "- name: example-small",
    '19: spec.backends[0].plans[1].name: is "example-small", expected another plan; this one stands at spec.backends[0].plans[0].name already',
  ],
  [
    "a negative price",
    "- name: example-big",
    '- { name: example-big, price: { currency: EUR, perHour: "-1" } }',
    '19: spec.backends[0].plans[1].price.perHour: is "-1", expected a string that matches ^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$',
  ],
  [
    "a price with an exponent",
    "- name: example-big",
    '- { name: example-big, price: { currency: EUR, perHour: "1e999999999" } }',
    '19: spec.backends[0].plans[1].price.perHour: is "1e999999999", expected a string that matches ^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$',
  ],
  [
    "a price as a floating-point number",
    "- name: example-big",
    "- { name: example-big, price: { currency: EUR, perHour: 0.1 } }",
    "19: spec.backends[0].plans[1].price.perHour: is 0.1, expected a string",
  ],
  [
    "two prices",
    "- name: example-big",
    '- { name: example-big, price: { currency: EUR, perHour: "1", perMonth: "2" } }',
    "19: spec.backends[0].plans[1].price: is two prices, expected exactly one of perHour and perMonth",
  ],
  [
    "a price that has none",
    "- name: example-big",
    "- { name: example-big, price: { currency: EUR } }",
    "19: spec.backends[0].plans[1].price: is without a price, expected exactly one of perHour and perMonth",
  ],
  [
    "an unknown currency",
    "- name: example-big",
    '- { name: example-big, price: { currency: QQQ, perHour: "1" } }',
    '19: spec.backends[0].plans[1].price.currency: is "QQQ", expected a code of ISO 4217, such as EUR',
  ],
  [
    "a parameter of unknown type",
    "type: array",
    "type: integr",
    '27: spec.parameters[0].schema.type: is "integr", expected one of "array", "boolean", "integer", "integer or string", "number", "object", "string"',
  ],
  [
    "an unknown field",
    "  title: Example",
    "  titel: Example",
    '5: spec.titel: is "Example", expected one of the fields about, backends, backups, claim, columns, credentials, examples, otherCompositions, parameters, parametersAbout, sizes, title',
  ],
  [
    "a backend that makes nothing",
    "      broker: {}\n",
    "",
    "13: spec.backends[0]: is neither, expected either broker, or object: how instances are made",
  ],
  [
    "no default",
    "default: true",
    "default: false",
    "12: spec.backends: is no default, expected exactly one backend with default: true",
  ],
  [
    "a plan without a size",
    "name: example-big",
    "name: example-huge",
    '19: spec.backends[0].plans[1].name: is "example-huge", expected a name with the size of the plan: one of -small, -big',
  ],
  [
    "a rule of an unknown kind",
    "neverSmaller: {}",
    "neverLarger: {}",
    "21: spec.backends[0].rules[0]: is none of them, expected exactly one of neverSmaller, keeps, never, immutable, planNeeds, serviceNeeds, parametersNeed, cel",
  ],
  [
    "a rule of CEL without words",
    "neverSmaller: {}",
    "cel: { expression: self.plan != oldSelf.plan }",
    "21: spec.backends[0].rules[0].message: is missing, expected what a claim is refused with",
  ],
  [
    "a word that no plan has",
    "neverSmaller: {}",
    "keeps: { word: ssl, title: SSL }",
    '21: spec.backends[0].rules[0].keeps.word: is "ssl", expected a word that a plan of this backend has',
  ],
  [
    "an unknown service",
    "neverSmaller: {}",
    "planNeeds: { word: big, services: [example1, example2] }",
    '21: spec.backends[0].rules[0].planNeeds.services[1]: is "example2", expected a service of this backend: one of example1',
  ],
  [
    "an unknown parameter",
    "neverSmaller: {}",
    "parametersNeed: { word: big, parameters: [letters] }",
    '21: spec.backends[0].rules[0].parametersNeed.parameters[0]: is "letters", expected a parameter: one of words',
  ],
  [
    "a field of no claim",
    "field: zone",
    "field: region",
    '22: spec.backends[0].rules[1].immutable.field: is "region", expected a field of the claim\'s spec: one of service, plan, acceptsIncomplete, parameters, zone',
  ],
  [
    "an unknown backend",
    "to: { a9s: words }",
    "to: { a8s: words }",
    '26: spec.parameters[0].to.a8s: is "a8s", expected a backend: one of a9s',
  ],
  [
    "a name at the backend that is none",
    "to: { a9s: words }",
    "to: { a9s: { key: words, as: upper } }",
    '26: spec.parameters[0].to.a9s.as: is "upper", expected one of "lower"',
  ],
  [
    "a key that no Secret can have",
    "keys: [host, port]",
    "keys: [host, port, the url]",
    '29: spec.credentials.keys[2]: is "the url", expected a string that matches ^[-._a-zA-Z0-9]+$',
  ],
  [
    "a connection of an unknown key",
    "from: host",
    "from: hostname",
    '30: spec.credentials.connection[0].from: is "hostname", expected a key of credentials.keys: one of host, port',
  ],
  [
    "a connection of a key that holds a secret",
    "keys: [host, port]\n    connection: [{ label: Example, from: host,",
    "keys: [host, port, password]\n    connection: [{ label: Example, from: password,",
    '30: spec.credentials.connection[0].from: is "password", expected a key that holds no secret; everyone who can read the status of a binding sees its value',
  ],
  [
    "a field that every claim has",
    "      zone:",
    "      plan:",
    '10: spec.claim.fields.plan: is "plan", expected another name; every claim has a field of this one',
  ],
  [
    "a kind that all services share",
    "kind: ExampleInstance",
    "kind: Backup",
    '8: spec.claim.kind: is "Backup", expected another kind; this one is there already',
  ],
  [
    "a pattern that is none",
    "type: string, maxLength: 5",
    'type: string, pattern: "("',
    '27: spec.parameters[0].schema.items.pattern: is "(", expected a regular expression of RE2',
  ],
  [
    "a bound of a text",
    "type: string, maxLength: 5",
    "type: string, minimum: 5",
    "27: spec.parameters[0].schema.items.minimum: is 5, expected no minimum with the type string; it is for integer, number",
  ],
  [
    "a list of nothing",
    "type: array, items: { type: string, maxLength: 5 }",
    "type: array",
    "27: spec.parameters[0].schema.items: is nothing, expected what the list holds",
  ],
  [
    "an example that its own definition refuses",
    "words: [one, two]",
    "words: [one, longer]",
    '35: spec.examples[0].spec.parameters.words[1]: is "longer", expected maxLength 5',
  ],
  [
    "an example with a field that would be dropped",
    "words: [one, two]",
    "letters: [one]",
    '35: spec.examples[0].spec.parameters.letters: is ["one"], expected one of the fields words',
  ],
];
for (const [what, piece, by, fault] of cases)
  test(`${what} is refused with its line`, () => {
    const found = faultsOf(changed(piece, by));
    assert.ok(found.includes(`example.yaml:${fault}`), found.join("\n"));
  });

test("all faults are told at once, in the order of their lines", () => {
  const text = changed("type: array", "type: integr")
    .replace("name: example-big", "name: example-small")
    .replace("  title: Example\n", "");
  const lines = faultsOf(text).map((fault) => Number(fault.split(":")[1]));
  assert.deepEqual(
    lines,
    lines.toSorted((one, other) => one - other),
  );
  const all = faultsOf(text).join("\n");
  for (const part of [/title: is missing/, /another plan/, /"integr"/]) assert.match(all, part);
});

test("a type or kind that another service has is refused", () => {
  const found = faultsOf(small, [{ type: "example", kind: "ExampleInstance" }]);
  assert.match(found.join("\n"), /metadata\.name: is "example", expected another name/);
  assert.match(found.join("\n"), /claim\.kind: is "ExampleInstance", expected another kind/);
});

/** Puts something else in one place of a value, or takes it away; the place is found by numbers. */
function mutated(value: unknown, [step, ...steps]: readonly number[], by: unknown): unknown {
  if (typeof value !== "object" || value === null || step === undefined) return by;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return by;
  const inner: unknown = Object.entries(value).find(([key]) => key === name)?.[1];
  const next = mutated(inner, steps, by);
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (String(index) === name ? next : item));
  return { ...value, [name]: next };
}

const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    0,
    -1,
    [],
    {},
    [{}],
    "a\nb",
    "${self}",
    '"',
    "constructor",
    "__proto__",
  ),
);

test("a table that is changed anywhere is a table, or has faults with lines and words; nothing throws", () => {
  const [right, large] = [parseYaml(small), parseYaml(shipped)];
  let wrong = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(right, right, right, large),
      fc.array(fc.nat(40), { maxLength: 8 }),
      strange,
      (value, steps, by) => {
        const text = formatYaml(mutated(value, steps, by));
        const lines = text.split("\n").length;
        const { table, faults } = readTable(parsePlacedYaml(text));
        assert.equal(table === undefined, faults.length > 0);
        wrong += faults.length;
        for (const fault of faults) {
          assert.ok(fault.line >= 1 && fault.line <= lines, String(fault.line));
          assert.ok(fault.value !== "" && fault.expected !== "");
          assert.doesNotMatch(describeFault("f", fault), /undefined|\n/);
        }
      },
    ),
    { numRuns: 600 },
  );
  assert.ok(wrong > 500, `only ${wrong} faults`);
});

test("anything at all in the place of a table has faults", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { table, faults } = readTable(parsePlacedYaml(formatYaml(value)));
      assert.equal(table, undefined);
      assert.ok(faults.length > 0);
    }),
  );
});

test("a backend keeps at least one plan that can be chosen", () => {
  const retired = (name: string): string => `- { name: ${name}, retired: true }`;
  const one = changed("- name: example-big", retired("example-big"));
  assert.deepEqual(faultsOf(one), []);
  const [fault = ""] = faultsOf(one.replace("- name: example-small", retired("example-small")));
  assert.match(
    fault,
    /spec\.backends\[0\]\.plans: is all retired, expected at least one plan that is not retired/,
  );
});
