/** The table of built-in resources against what a real API server serves. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { discoverResource } from "@klutch/kube";
import { leaseCluster } from "@klutch/kube-testing";
import type { ResourceType } from "./resource-type.ts";
import * as resources from "./resources.ts";

const cluster = await leaseCluster({ name: "resources" });
after(() => cluster[Symbol.asyncDispose]());

const all: readonly ResourceType[] = Object.values(resources);

for (const type of all) {
  test(`${type.kind} is served as the table says`, async () => {
    const { group, version, kind } = type;
    assert.deepEqual(await discoverResource(cluster.client, { group, version, kind }), type);
  });
}
