import assert from "node:assert/strict";
import { test } from "node:test";
import { deployments } from "./resources.ts";
import { isOfOtherKind, stamped, withoutType } from "./stamp.ts";

const metadata = { namespace: "team", name: "web" };
const object = { apiVersion: "evil.example.org/v1", kind: "Secret", metadata, spec: { replicas: 1 } };

test("an object is written as what it is written as, whatever it says of itself", () => {
  const wanted = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas: 1 } };
  assert.deepEqual(stamped(deployments, object, undefined), wanted);
  assert.deepEqual(stamped(deployments, object, {}), wanted);
  assert.deepEqual(stamped(deployments, object, { subresource: "status" }), wanted);
});

test("a subresource of another kind keeps its kind", () => {
  const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata };
  assert.equal(stamped(deployments, scale, { subresource: "scale" }), scale);
});

test("the status is the object's own kind, other subresources are not", () => {
  assert.equal(isOfOtherKind(), false);
  assert.equal(isOfOtherKind({ subresource: "status" }), false);
  assert.equal(isOfOtherKind({ subresource: undefined }), false);
  assert.equal(isOfOtherKind({ subresource: "scale" }), true);
});

test("a patch says nothing of its type, and keeps fields of that name further down", () => {
  const spec = { kind: "inner", apiVersion: "inner" };
  assert.deepEqual(withoutType({ ...object, spec }), { metadata, spec });
  assert.deepEqual(withoutType({ spec }), { spec });
});
