import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "@klutch/kube";
import { renamed, versionsInTheWay } from "./managed-versions.ts";

const entry = (manager: string, apiVersion: string, fieldsV1: object, more: object = {}): object => ({
  manager,
  operation: "Update",
  apiVersion,
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});

test("two entries of a manager become one that holds the fields of both; those of a subresource stay apart", () => {
  const entries = [
    entry("crossplane", "g/v1", { "f:spec": { "f:a": {}, "f:b": {} } }),
    entry("crossplane", "g/v1", { "f:status": {} }, { subresource: "status" }),
    entry("crossplane", "g/v2", { "f:spec": { "f:b": {}, "f:c": {} } }),
    entry("other", "g/v0", { "f:spec": {} }),
  ];
  assert.deepEqual(renamed(entries, new Set(["g/v1"]), "g/v2"), [
    entry("crossplane", "g/v2", { "f:spec": { "f:a": {}, "f:b": {}, "f:c": {} } }),
    entry("crossplane", "g/v2", { "f:status": {} }, { subresource: "status" }),
    entry("other", "g/v0", { "f:spec": {} }),
  ]);
});

test("only an internal error in these words is about versions", () => {
  const removed = "failed to prune fields: request to convert CR to an invalid group/version: example.org/v1";
  const undeclared =
    "apply Widget w: failed to prune fields: failed to convert merged object to last applied version: .spec.tier: field not declared in schema";
  const error = (status: number, message: string): ApiError => new ApiError({ status, reason: "", message });
  assert.deepEqual(versionsInTheWay(error(500, removed)), { only: "example.org/v1" });
  assert.deepEqual(versionsInTheWay(error(500, undeclared)), {});
  assert.equal(versionsInTheWay(error(422, removed)), undefined);
  const own = "failed to create typed patch object (app/w): .spec.tier: field not declared in schema";
  assert.equal(versionsInTheWay(error(500, own)), undefined);
  assert.equal(versionsInTheWay(new Error(removed)), undefined);
});
