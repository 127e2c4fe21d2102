import assert from "node:assert/strict";
import { test } from "node:test";
import { formatYaml, parseYamlDocuments } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import * as schema from "@klutch/schema";
import { claimResource } from "./data-service.ts";
import { exampleFilesOf } from "./examples.ts";
import { generations } from "./generation.ts";
import { services } from "./list.ts";
import { startClaimServer } from "./testing/claim-server.ts";

const { client } = await startClaimServer("examples");
const manifest = schema.object({
  apiVersion: schema.string(),
  kind: schema.string(),
  metadata: schema.object({ name: schema.string(), namespace: schema.string() }),
  spec: schema.anyObject(),
});

for (const generation of generations)
  test(`every shipped example of ${generation.name} is accepted, and none has a field that is dropped`, async () => {
    const kinds = [...services().map(({ kind }) => kind), "ServiceBinding", "Backup", "Restore"];
    const types = kinds.map((kind) => claimResource(kind, generation));
    // The first requests to fresh kinds may still be answered with 404.
    for (const type of types) await waitFor(`${type.plural} to be served`, () => client.list(type));
    for (const { name, manifest: printed } of exampleFilesOf(generation)) {
      for (const value of parseYamlDocuments(formatYaml(printed))) {
        assert.ok(schema.accepts(manifest, value), name);
        const type = types.find(
          ({ kind, group }) => kind === value.kind && value.apiVersion === `${group}/v1`,
        );
        assert.ok(type !== undefined, name);
        const { spec } = await client.create<KubeObject>(type, value, { dryRun: true });
        assert.deepEqual(spec, value.spec, name);
      }
    }
  });
