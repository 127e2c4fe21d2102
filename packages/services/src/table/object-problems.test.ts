import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceBackupsAnnotation } from "@klutch/api";
import { parsePlacedYaml } from "@klutch/kube";
import { instanceTemplate } from "../export-templates.ts";
import { generations, legacy } from "../generation.ts";
import { examplesOf } from "../examples.ts";
import { pageOf } from "../page.ts";
import { manifestsOf } from "../render/manifests.ts";
import { faultsOf, replaced, tableHead } from "../testing/table-text.ts";
import { dataServiceOf } from "./data-service-of.ts";
import { readTable } from "./read-table.ts";

/** A small table that is right, with a second backend of objects. */
const small = `${tableHead}    fields:
      zone: { about: Where it runs., schema: { type: string }, backends: [inside] }
  sizes: [{ word: small }, { word: big }]
  backends:
    - { name: a9s, default: true, broker: {}, services: [example1], plans: [{ name: example-small }] }
    - name: inside
      services: [example2]
      plans: [{ name: example-one-big }]
      object:
        providerConfig: in-cluster
        manifest: { apiVersion: example.org/v1, kind: Example, spec: { fixed: true } }
        ready: object.status.ready
        patches:
          - { from: spec.service, to: spec.version, trimPrefix: example, as: integer }
          - { from: spec.plan, to: spec.disk, lastWord: { big: 9Gi } }
          - { from: spec.plan, to: spec.replicas, hasWord: { one: 1 } }
          - { from: spec.zone, to: spec.zone, default: here }
          - { from: parameters, to: spec.settings }
        status:
          - { from: status.state, to: state }
        binding:
          manifest: { apiVersion: example.org/v1, kind: User }
          ready: object.status.ready
          patches: [{ from: spec.instanceRef, to: spec.instance }]
          status: [{ from: status.secret, to: credentials.name }]
  parameters:
    - { name: words, about: Some words., to: { a9s: words, inside: theWords }, schema: { type: string } }
  credentials: { keys: [password] }
`;

test("only a table with a broker needs ProviderConfigs of one", () => {
  const both = readTable(parsePlacedYaml(small)).table;
  assert.ok(both !== undefined);
  const named = (table: typeof both): readonly string[] =>
    generations.map((generation) =>
      manifestsOf(generation, table)
        .providerConfigs.map(({ name }) => name)
        .join(", "),
    );
  const expected = "example-service-broker, example-backup-manager";
  assert.deepEqual(named(both), [expected, expected]);
  const inside = both.backends.filter(({ object }) => object !== undefined);
  const alone = { ...both, backends: inside.map((backend) => ({ ...backend, default: true })) };
  assert.deepEqual(named(alone), ["", ""]);
});

test("a table with objects that is right has no faults, and says what its file says", () => {
  assert.deepEqual(faultsOf(small), []);
  const { table } = readTable(parsePlacedYaml(small));
  assert.deepEqual(table?.fields[0]?.backends, ["inside"]);
  assert.equal(table.backends[1]?.object?.binding?.status?.[0]?.from, "status.secret");
});

const cases: readonly (readonly [what: string, piece: string, by: string, fault: string])[] = [
  [
    "a backend with two ways to make it",
    "      services: [example2]",
    "      broker: {}\n      services: [example2]",
    "14: spec.backends[1]: is both, expected either broker, or object: how instances are made",
  ],
  [
    "an object that takes a name of its own",
    "kind: Example, spec: { fixed: true }",
    "kind: Example, metadata: { namespace: kube-system }",
    '19: spec.backends[1].object.manifest.metadata.namespace: is "kube-system", expected labels and annotations only; name and namespace are the claim\'s',
  ],
  [
    "an object with a status",
    "spec: { fixed: true }",
    "status: { ready: true }",
    "19: spec.backends[1].object.manifest.status: is there, expected no status; the operator writes it",
  ],
  [
    "an object of no version",
    "apiVersion: example.org/v1, kind: Example",
    "apiVersion: example.org, kind: Example",
    '19: spec.backends[1].object.manifest.apiVersion: is "example.org", expected a version such as example.org/v1',
  ],
  [
    "an object of no kind",
    ", kind: Example, spec",
    ", spec",
    "19: spec.backends[1].object.manifest.kind: is missing, expected a kind such as Database",
  ],
  [
    "a query that is about nothing",
    "ready: object.status.ready\n        patches",
    "ready: true == true\n        patches",
    '20: spec.backends[1].object.ready: is "true == true", expected a CEL query of the word object',
  ],
  [
    "a patch from an unknown field",
    "from: spec.zone,",
    "from: spec.region,",
    '25: spec.backends[1].object.patches[3].from: is "spec.region", expected one of spec.service, spec.plan, spec.acceptsIncomplete, spec.zone, parameters, claim.name, claim.namespace',
  ],
  [
    "a patch of a binding from a field of instances",
    "from: spec.instanceRef, to: spec.instance",
    "from: spec.plan, to: spec.instance",
    '32: spec.backends[1].object.binding.patches[0].from: is "spec.plan", expected one of spec.instanceRef, spec.serviceInstanceType, claim.name, claim.namespace',
  ],
  [
    "a patch to the object's name",
    "to: spec.zone",
    "to: metadata.name",
    '25: spec.backends[1].object.patches[3].to: is "metadata.name", expected a string that matches ^spec(\\.[A-Za-z][-A-Za-z0-9_]{0,62}){1,10}$',
  ],
  [
    "two patches to one place",
    "to: spec.zone",
    "to: spec.disk",
    '25: spec.backends[1].object.patches[3].to: is "spec.disk", expected another path; this one stands at spec.backends[1].object.patches[1].to already',
  ],
  [
    "a patch with two changes",
    "hasWord: { one: 1 }",
    "hasWord: { one: 1 }, lastWord: { big: 2 }",
    "24: spec.backends[1].object.patches[2]: is lastWord and hasWord, expected one of trimPrefix, lastWord, hasWord, or none",
  ],
  [
    "a plan for which a patch has no value",
    "lastWord: { big: 9Gi }",
    "lastWord: { small: 1Gi, medium: 3Gi }",
    '16: spec.backends[1].plans[0].name: is "example-one-big", expected a name with the last word small or medium, for the patch to spec.disk',
  ],
  [
    "a plan without one of the words",
    "hasWord: { one: 1 }",
    "hasWord: { three: 3 }",
    '16: spec.backends[1].plans[0].name: is "example-one-big", expected a name with the word three, for the patch to spec.replicas',
  ],
  [
    "a service without a number",
    "services: [example2]",
    "services: [example2b]",
    '15: spec.backends[1].services[0]: is "example2b", expected a name of example and a number, for the patch to spec.version',
  ],
  [
    "parameters that would not arrive",
    "          - { from: parameters, to: spec.settings }\n",
    "",
    "21: spec.backends[1].object.patches: is without parameters, expected a patch from parameters, for words has a name at this backend",
  ],
  [
    "parameters that a patch changes",
    "from: parameters, to: spec.settings",
    "from: parameters, to: spec.settings, default: {}",
    "26: spec.backends[1].object.patches[4]: is changed parameters, expected from and to only; parameters[].to changes them",
  ],
  [
    "a reported field outside of the status",
    "from: status.secret",
    "from: spec.secret",
    '33: spec.backends[1].object.binding.status[0].from: is "spec.secret", expected a string that matches ^status(\\.[A-Za-z][-A-Za-z0-9_]{0,62}){1,10}$',
  ],
  [
    "an unknown kind",
    "        binding:",
    "        bind:",
    '29: spec.backends[1].object.bind: is {"manifest":{"apiVersion":"example.org/v1","kind":"User"}…, expected one of the fields backup, binding, manifest, patches, providerConfig, ready, restore, status',
  ],
  [
    "a field for an unknown backend",
    "backends: [inside]",
    "backends: [outside]",
    '10: spec.claim.fields.zone.backends[0]: is "outside", expected a backend: one of a9s, inside',
  ],
];
for (const [what, piece, by, fault] of cases)
  test(`${what} is refused with its line`, () => {
    const found = faultsOf(replaced(small, piece, by));
    assert.ok(found.includes(`example.yaml:${fault}`), found.join("\n"));
  });

test("a service without backups says so on its template and its page, and has no examples of them", () => {
  const text = replaced(small, "  sizes:", "  backups: false\n  sizes:");
  const described = (table: string): readonly string[] => {
    const found = readTable(parsePlacedYaml(table)).table;
    assert.ok(found !== undefined, faultsOf(table).join("\n"));
    const service = dataServiceOf({ ...found, examples: [example] });
    const { annotations = {} } = instanceTemplate(legacy, service).metadata;
    const page = pageOf(legacy, service);
    const files = examplesOf(legacy, service).map(({ name }) => name);
    const naming = /[^.]*name it\n/.exec(page)?.[0].trim() ?? "";
    return [annotations[serviceBackupsAnnotation] ?? "", naming, ...files];
  };
  const example = { file: "one", about: "One.", name: "one", spec: {} };
  assert.deepEqual(described(text), ["none", "Bindings name it", "one", "example-binding"]);
  assert.deepEqual(described(small), [
    "",
    "Bindings, backups and restores name it",
    "one",
    "example-binding",
    "example-backup",
    "example-restore",
  ]);
  const contradicts = replaced(
    text,
    "        binding:\n",
    "        backup: { manifest: { apiVersion: example.org/v1, kind: Copy }, ready: object.status.ready }\n        binding:\n",
  );
  assert.deepEqual(faultsOf(contradicts), [
    "example.yaml:30: spec.backends[1].object.backup: is set, expected nothing, because spec.backups is false",
  ]);
});
