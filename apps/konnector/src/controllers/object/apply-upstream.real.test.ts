import assert from "node:assert/strict";
import { after, test } from "node:test";
import { discoverResource, isInvalid } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  recordsAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { applyUpstream } from "./apply-upstream.ts";
import { versionsInTheWay } from "./managed-versions.ts";

const cluster = await leaseCluster({ name: "apply" });
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

test("an object that was applied in a version which is no longer there is applied, and what was ours is still taken away", async () => {
  const crd = { name: "databases.test.klutch.dev" };
  const { spec: before } = await client.get<DynamicObject>(customResourceDefinitions, crd);
  const [first] = recordsAt(before, "versions");
  const next = { ...first, name: "v2" };
  const versions = async (...list: readonly unknown[]): Promise<unknown> =>
    client.mergePatch(customResourceDefinitions, crd, { spec: { versions: list } });
  const ref = { name: "moved", namespace: "default" };
  await apply("moved", { plan: "x", parameters: { a: 1 }, tags: { ours: "1" } });
  await client.mergePatch(databases, ref, { spec: { tags: { theirs: "1" } } }, { fieldManager: "somebody" });
  await versions({ ...first, storage: false }, next);
  const type = { ...databases, version: "v2" };
  for (const name of ["moved", "shared", "refused", "emptied"])
    await waitFor(`${name} to be stored again`, () => client.mergePatch(type, { ...ref, name }, {}));
  const status = { status: { storedVersions: ["v2"] } };
  await client.mergePatch(customResourceDefinitions, crd, status, { subresource: "status" });
  await versions(next);
  const content = { apiVersion: "test.klutch.dev/v2", kind: "Database", metadata: ref, spec: { plan: "x" } };
  const options = { fieldManager: "test", force: true };
  await waitFor("the API server to forget the version", () =>
    client.apply(type, content, { ...options, dryRun: true }).then(
      () => false,
      (error: unknown) => versionsInTheWay(error)?.only === "test.klutch.dev/v1",
    ),
  );
  const answer = await applyUpstream(client, type, content, options);
  assert.deepEqual(answer["spec"], { plan: "x", tags: { theirs: "1" } });
  const managers = (answer.metadata.managedFields ?? []).map(
    (entry) => `${textAt(entry, "manager") ?? ""} ${textAt(entry, "apiVersion") ?? ""}`,
  );
  assert.deepEqual(managers.toSorted(), ["somebody test.klutch.dev/v2", "test test.klutch.dev/v2"]);
});
