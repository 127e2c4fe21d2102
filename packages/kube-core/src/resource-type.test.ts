import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersionOf, describe } from "./resource-type.ts";
import { deployments, namespaces } from "./resources.ts";

test("the core group has no part in an API version", () => {
  assert.equal(apiVersionOf(namespaces), "v1");
  assert.equal(apiVersionOf(deployments), "apps/v1");
});

test("an object is described by its kind and where it is", () => {
  assert.equal(describe(deployments, { namespace: "team", name: "web" }), "Deployment team/web");
  assert.equal(describe(namespaces, { name: "team" }), "Namespace team");
});
