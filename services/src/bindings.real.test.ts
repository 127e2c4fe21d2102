import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { parseYamlDocuments } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import * as schema from "@klutch/schema";
import { claimResource } from "./data-service.ts";
import { exampleFiles } from "./examples.ts";
import { services } from "./list.ts";
import { type ClaimCase, startClaimServer, verdict } from "./testing/claim-server.ts";

const bindings = claimResource("ServiceBinding");
const server = await startClaimServer("binding-claims");
const { client } = server;
const pgBinding = { instanceRef: "orders", serviceInstanceType: "postgresql" };

const cases: readonly ClaimCase[] = [
  ["a binding without a compositionRef", pgBinding, undefined],
  ["a binding without an instance", { serviceInstanceType: "postgresql" }, /instanceRef: Required value/],
  [
    "a binding to an unknown data service",
    { ...pgBinding, serviceInstanceType: "s3" },
    /Unsupported value: "s3"/,
  ],
  ...services.map(
    ({ title, type }): ClaimCase => [
      `a binding to ${title}`,
      { instanceRef: "orders", serviceInstanceType: type },
      undefined,
    ],
  ),
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(bindings, `claim-${index}`, spec, message));

test("a binding cannot be moved to another instance", async () => {
  await server.create(bindings, "moving", pgBinding);
  const ref = { namespace: "a", name: "moving" };
  for (const [field, value, message] of [
    ["instanceRef", "other", /InstanceRef is an immutable field/],
    ["serviceInstanceType", "mongodb", /ServiceInstanceType is an immutable field/],
  ] as const)
    await assert.rejects(client.mergePatch(bindings, ref, { spec: { [field]: value } }), message);
});

const types = [...services.map(({ kind }) => claimResource(kind)), bindings];
const manifest = schema.object({
  apiVersion: schema.string(),
  kind: schema.string(),
  metadata: schema.object({ name: schema.string(), namespace: schema.string() }),
  spec: schema.anyObject(),
});

test("every shipped example is accepted, and none has a field that is dropped", async () => {
  const folder = new URL("../../configuration/examples/", import.meta.url);
  const names = await readdir(folder);
  assert.deepEqual(names.toSorted(), exampleFiles.map(({ name }) => `${name}.yaml`).toSorted());
  for (const name of names) {
    for (const value of parseYamlDocuments(await readFile(new URL(name, folder), "utf8"))) {
      assert.ok(schema.accepts(manifest, value), name);
      const type = types.find(({ kind }) => kind === value.kind);
      assert.ok(type !== undefined, name);
      const { spec } = await client.create<KubeObject>(type, value, { dryRun: true });
      assert.deepEqual(spec, value.spec, name);
    }
  }
});
