import assert from "node:assert/strict";
import { test } from "node:test";
import { collectionPath, objectPath } from "./paths.ts";

test("a name that would lead to another path is never sent", () => {
  const type = { group: "example.org", version: "v1", plural: "widgets", kind: "Widget", namespaced: true };
  for (const name of ["", ".", "..", "a/b", "%2e%2e", "../../secrets"]) {
    assert.throws(() => objectPath(type, { namespace: "app", name }), RangeError);
    assert.throws(() => objectPath(type, { namespace: name, name: "a" }), RangeError);
    assert.throws(() => collectionPath(type, name), RangeError);
  }
  assert.equal(
    objectPath(type, { namespace: "app", name: "system:a" }),
    "/apis/example.org/v1/namespaces/app/widgets/system%3Aa",
  );
});
