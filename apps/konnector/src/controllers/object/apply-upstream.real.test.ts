import assert from "node:assert/strict";
import { after, test } from "node:test";
import { discoverResource, isInvalid } from "@klutch/kube";
import { customResourceDefinitions, type DynamicObject, type ResourceType } from "@klutch/kube-core";
import { startCluster, waitFor } from "@klutch/kube-testing";
import { applyUpstream } from "./apply-upstream.ts";

const cluster = await startCluster({ name: "apply" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;

const databases: ResourceType = {
  group: "test.klutch.dev",
  version: "v1",
  plural: "databases",
  kind: "Database",
  namespaced: true,
};
const parameters = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } };
const spec = {
  type: "object",
  properties: {
    plan: { type: "string", enum: ["x"] },
    parameters,
    tags: { type: "object", additionalProperties: { type: "string" } },
  },
};
await client.create<DynamicObject>(customResourceDefinitions, {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "databases.test.klutch.dev" },
  spec: {
    group: databases.group,
    scope: "Namespaced",
    names: { kind: "Database", plural: "databases", singular: "database", listKind: "DatabaseList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  },
});
await waitFor("databases to be served", () =>
  discoverResource(client, { group: databases.group, kind: databases.kind }),
);

/** The spec that the server has afterwards. */
async function apply(name: string, wanted: Readonly<Record<string, unknown>>): Promise<unknown> {
  const content: DynamicObject = {
    apiVersion: "test.klutch.dev/v1",
    kind: "Database",
    metadata: { name, namespace: "default" },
    spec: wanted,
  };
  const answer = await applyUpstream(client, databases, content, { fieldManager: "test", force: true });
  return answer["spec"];
}

test("the last field of a map can be taken away, in any depth", async () => {
  for (const next of [
    { plan: "x", parameters: {}, tags: { t: "1" } },
    { plan: "x", parameters: {}, tags: {} },
    { plan: "x" },
    { parameters: {} },
    {},
  ]) {
    await apply("emptied", { plan: "x", parameters: { a: 1 }, tags: { t: "1" } });
    assert.deepEqual(await apply("emptied", next), next);
  }
});

test("what somebody else has in the map stays", async () => {
  await apply("shared", { parameters: { a: 1 } });
  await client.mergePatch(
    databases,
    { name: "shared", namespace: "default" },
    { spec: { parameters: { b: 2 } } },
    { fieldManager: "somebody" },
  );
  assert.deepEqual(await apply("shared", { parameters: {} }), { parameters: { b: 2 } });
});

test("what the server refuses for another reason stays refused, and nothing is written", async () => {
  await apply("refused", { plan: "x", parameters: { a: 1 } });
  for (const wrong of [
    { plan: "y", parameters: {} },
    { plan: "x", parameters: { a: null }, tags: {} },
  ]) {
    await assert.rejects(
      apply("refused", wrong),
      (error) => isInvalid(error) && /spec\./.test(error.message),
    );
    const { spec: left } = await client.get<DynamicObject>(databases, {
      name: "refused",
      namespace: "default",
    });
    assert.deepEqual(left, { plan: "x", parameters: { a: 1 } });
  }
});
