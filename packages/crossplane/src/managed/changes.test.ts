import assert from "node:assert/strict";
import { test } from "node:test";
import { keysOfManagedChange } from "./changes.ts";
import type { Managed } from "./external.ts";

const keysOf = keysOfManagedChange(["example.org/note"]);
const before: Managed = {
  apiVersion: "example.org/v1",
  kind: "Crate",
  metadata: { name: "box", generation: 1, resourceVersion: "1", labels: { a: "1" }, annotations: { b: "1" } },
  spec: {},
};

function keysAfter(metadata: Managed["metadata"], status?: Managed["status"]): readonly string[] {
  const object = { ...before, status, metadata: { ...before.metadata, ...metadata } };
  return keysOf({ type: "updated", key: "box", object, previous: before });
}

const own: readonly (readonly [string, Managed["metadata"]])[] = [
  ["nothing but the version", { resourceVersion: "2" }],
  ["a note of ours", { annotations: { b: "1", "example.org/note": "x" } }],
  ["the external name", { annotations: { b: "1", "crossplane.io/external-name": "x" } }],
  ["the finalizers", { finalizers: ["f"] }],
];
for (const [what, metadata] of own) {
  test(`a change of ${what} needs no reconcile`, () => {
    assert.deepEqual(keysAfter({ resourceVersion: "2", ...metadata }), []);
  });
}

test("a change of the status needs no reconcile", () => {
  assert.deepEqual(keysAfter({ resourceVersion: "2" }, { conditions: [] }), []);
});

const foreign: readonly (readonly [string, Managed["metadata"]])[] = [
  ["the spec", { generation: 2 }],
  ["another annotation", { annotations: { b: "2" } }],
  ["annotations, of which all are gone", { annotations: undefined }],
  ["a label", { labels: { a: "2" } }],
  ["the time of deletion", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
];
for (const [what, metadata] of foreign) {
  test(`a change of ${what} is reconciled`, () => {
    assert.deepEqual(keysAfter(metadata), ["box"]);
  });
}

test("an object that comes or goes is reconciled", () => {
  assert.deepEqual(keysOf({ type: "added", key: "box", object: before }), ["box"]);
  assert.deepEqual(keysOf({ type: "deleted", key: "box", object: before }), ["box"]);
});
