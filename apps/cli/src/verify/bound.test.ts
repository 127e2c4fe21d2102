import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIServiceExport, APIServiceExportSpec } from "@klutch/api";
import { type BoundTypes, typesOf } from "./bound.ts";

type Version = APIServiceExportSpec["versions"][number];
const version = (name: string, more: Partial<Version> = {}): Version => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object" } },
  ...more,
});

function typesWith(changes: Partial<APIServiceExport["spec"]>): BoundTypes | undefined {
  const spec: APIServiceExport["spec"] = {
    group: "example.org",
    names: { kind: "Widget", plural: "widgets" },
    scope: "Namespaced",
    informerScope: "Namespaced",
    versions: [version("v1", { storage: true })],
    ...changes,
  };
  return typesOf({ spec });
}
const namespaced = (found: BoundTypes | undefined): readonly unknown[] => [
  found?.consumer.namespaced,
  found?.provider.namespaced,
];

test("an API is read by the version that is synced, of the same name on both sides", () => {
  const versions = [version("v1beta1"), version("v1", { storage: true })];
  const type = { group: "example.org", version: "v1", plural: "widgets", kind: "Widget", namespaced: true };
  assert.deepEqual(typesWith({ versions }), { consumer: type, provider: type });
});

test("a cluster-scoped API is namespaced at a provider that keeps its objects in the cluster namespace", () => {
  assert.deepEqual(namespaced(typesWith({ scope: "Cluster" })), [false, false]);
  const kept = typesWith({ scope: "Cluster", clusterScopedIsolation: "Namespaced" });
  assert.deepEqual(namespaced(kept), [false, true]);
  const prefixed = typesWith({ scope: "Cluster", clusterScopedIsolation: "Prefixed" });
  assert.deepEqual(namespaced(prefixed), [false, false]);
});

test("an API without a served version is not read", () => {
  assert.equal(typesWith({ versions: [version("v1", { served: false, storage: true })] }), undefined);
});
