import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  configurationMeta,
  functionName,
  packageArtefacts,
  parseRegistry,
  providerName,
  releaseRegistry,
} from "@klutch/api";
import { listAt, recordAt, textAt, valueAt } from "@klutch/kube-core";
import * as schema from "@klutch/schema";
import { compositionsOf } from "./compositions.ts";
import { exportTemplatesOf } from "./export-templates.ts";
import { compositionName, generations, legacy, v2 } from "./generation.ts";
import { services } from "./list.ts";
import { sharedXrdsOf } from "./shared-xrds.ts";
import type { CompositeResourceDefinition } from "./xrd.ts";
import { instanceXrd } from "./instance-xrd.ts";
import { xrdsOf } from "./xrds.ts";

const home = join(import.meta.dirname, "..", "..", "..", "services");

const lines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .toSorted();

const xrdVersions = schema.list(
  schema.object(
    {
      name: schema.string(),
      served: schema.boolean(),
      referenceable: schema.boolean(),
      schema: schema.object({ openAPIV3Schema: schema.anyObject() }),
    },
    { additionalPrinterColumns: schema.list(schema.anyObject()) },
  ),
  { minItems: 1, maxItems: 1 },
);

function describeXrd({ metadata, spec }: CompositeResourceDefinition): readonly string[] {
  const { names, claimNames, defaultCompositionRef, defaultCompositeDeletePolicy: policy, versions } = spec;
  assert.ok(schema.accepts(xrdVersions, versions));
  const json = JSON.stringify;
  return [
    `name ${metadata.name}`,
    `composite ${json(names)}`,
    `claim ${json(claimNames)}`,
    `composition ${json(defaultCompositionRef)}, delete policy ${policy === undefined ? "none" : json(policy)}`,
    ...versions.map(({ name, served, referenceable }) => `version ${json([name, served, referenceable])}`),
    ...versions.flatMap((version) =>
      (version.additionalPrinterColumns ?? []).map((column) => `column ${json(Object.values(column))}`),
    ),
    ...versions.flatMap((version) => schema.contractLines(version.schema.openAPIV3Schema)),
  ].toSorted();
}

test("every folder with a service is in the list, and the list has nothing else", () => {
  const folders = readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  assert.deepEqual(
    services()
      .map(({ type }) => type)
      .toSorted(),
    folders.toSorted(),
  );
});

for (const service of services()) {
  const { type, title } = service;

  test(`every field, enum, rule and column of ${service.kind} is as its contract says`, () => {
    const contract = readFileSync(join(home, type, "contract.txt"), "utf8");
    assert.deepEqual(describeXrd(instanceXrd(legacy, service)), lines(contract));
  });

  test(`${title} is a table and its contract, without code`, () => {
    assert.deepEqual(readdirSync(join(home, type)).toSorted(), ["contract.txt", "service.yaml"]);
  });

  test(`${title}: every parameter has one name in the claim and one at the broker`, () => {
    const all = service.parameterSchemas.map(({ name }) => name);
    assert.equal(new Set(all).size, all.length);
    for (const { parameters } of [service, ...service.others]) {
      const keys = parameters.map(({ brokerKey }) => brokerKey);
      assert.equal(new Set(keys).size, keys.length);
    }
  });

  test(`${title}: offerings are named after the service, and no plan stands twice`, () => {
    for (const offering of service.offerings)
      assert.match(offering, new RegExp(`^(?:a9s|klutch)-${type}\\d*$`));
    assert.equal(new Set(service.plans).size, service.plans.length);
    for (const plan of service.plans) assert.match(plan, /-(nano|small|medium|big)\b/);
  });

  test(`${title} is offered to app clusters`, () => {
    const name = `${service.kind.toLowerCase()}s`;
    for (const [generation, template] of [
      [legacy, name],
      [v2, `${name}.m.anynines.com`],
    ] as const)
      assert.ok(
        exportTemplatesOf(generation).some(({ metadata }) => metadata.name === template),
        template,
      );
  });
}

/** Translates a line of a v2 definition to the words of a legacy one. */
function asLegacy(line: string): string {
  return line
    .replaceAll("(has(self.crossplane) && has(self.crossplane.compositionRef))", "has(self.compositionRef)")
    .replaceAll(
      "(has(oldSelf.crossplane) && has(oldSelf.crossplane.compositionRef))",
      "has(oldSelf.compositionRef)",
    )
    .replaceAll(
      "(has(self.crossplane) && has(self.crossplane.compositionSelector))",
      "has(self.compositionSelector)",
    )
    .replaceAll(".crossplane.compositionRef", ".compositionRef")
    .replaceAll("-namespaced", "");
}

test("claims of both generations have the same fields, texts, rules and columns", () => {
  for (const [index, definition] of xrdsOf(v2).entries()) {
    const [ours, theirs] = [definition, xrdsOf(legacy)[index]].map((one) =>
      recordAt(listAt(one?.spec, "versions")[0]),
    );
    assert.deepEqual(JSON.parse(asLegacy(JSON.stringify(ours))), theirs, definition.metadata.name);
    const { scope, names, claimNames, defaultCompositionRef } = definition.spec;
    const name = textAt(names, "kind") ?? "";
    assert.equal(definition.metadata.name, `${name.toLowerCase()}s.m.anynines.com`);
    assert.deepEqual([scope, claimNames], ["Namespaced", undefined]);
    assert.match(textAt(defaultCompositionRef, "name") ?? "", /^a9s-\w+-namespaced$/);
  }
});

test("a Composition of v2 tells the function what that for legacy claims tells it", () => {
  for (const [index, { metadata, spec }] of compositionsOf(v2).entries()) {
    const other = compositionsOf(legacy)[index];
    assert.equal(metadata.name, compositionName(v2, other?.metadata.name ?? ""));
    assert.deepEqual(valueAt(spec, "pipeline"), valueAt(other?.spec, "pipeline"));
  }
});

/** The references are immutable here, other than in the API that this one follows. */
for (const definition of sharedXrdsOf(legacy)) {
  const kind = /^x(\w+)s\./.exec(definition.metadata.name)?.[1] ?? "none";
  test(`every field, enum, rule and column of the shared kind ${kind} is as its contract says`, () => {
    const contract = readFileSync(join(import.meta.dirname, "contracts", `${kind}.txt`), "utf8");
    assert.deepEqual(describeXrd(definition), lines(contract));
  });
}

test("every composite has the Composition that its definition names, and the Composition our function", () => {
  for (const generation of generations)
    for (const { spec } of xrdsOf(generation)) {
      const { names, defaultCompositionRef } = spec;
      const composition = compositionsOf(generation).find(
        ({ metadata }) => JSON.stringify(metadata) === JSON.stringify(defaultCompositionRef),
      );
      assert.ok(composition !== undefined, JSON.stringify(defaultCompositionRef));
      const text = JSON.stringify(composition.spec);
      assert.ok(text.includes(`"functionRef":{"name":"${functionName}"}`));
      assert.ok(JSON.stringify(names).includes(/"kind":"(\w+)"/.exec(text)?.[1] ?? "none"));
      assert.ok(text.includes(`"apiVersion":"${generation.group}/v1"`));
    }
});

test("the Configuration depends on the function and the provider it needs", () => {
  const text = JSON.stringify(configurationMeta(parseRegistry("registry.example.org")));
  for (const name of [packageArtefacts.function, packageArtefacts.provider])
    assert.ok(text.includes(`"package":"registry.example.org/${name}"`));
});

test("what Crossplane installs for a dependency, it names as the Compositions do", () => {
  // After the path of the repository.
  const path = releaseRegistry.slice(releaseRegistry.indexOf("/") + 1);
  assert.equal(functionName, `${path}-${packageArtefacts.function}`);
  assert.equal(providerName, `${path}-${packageArtefacts.provider}`);
});
