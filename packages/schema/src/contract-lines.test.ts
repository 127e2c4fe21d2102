import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contractLines } from "./contract-lines.ts";

test("each field is a line with its type, whether it must be there, and each keyword that decides about values", () => {
  const schema = {
    type: "object",
    required: ["size"],
    properties: {
      apiVersion: { type: "string" },
      size: { type: "integer", minimum: 1, maximum: 9, default: 3 },
      name: { type: "string", pattern: "^a+$", maxLength: 5, nullable: true },
      mode: { type: "string", enum: ["fast", "safe"] },
    },
  };
  assert.deepEqual(contractLines(schema), [
    "size: integer default 3 minimum 1 maximum 9, required",
    'name: string pattern "^a+$" maxLength 5 nullable true',
    'mode: string enum ["fast","safe"]',
  ]);
});

test("lists and maps name their items' type, and nested fields have their own lines", () => {
  const item = { type: "object", properties: { host: { type: "string" } }, required: ["host"] };
  const schema = {
    properties: {
      hosts: {
        type: "array",
        items: item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["host"],
      },
      labels: { type: "object", additionalProperties: { type: "string" } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  assert.deepEqual(contractLines(schema), [
    'hosts: list of object list-type "map" list-map-keys ["host"]',
    "hosts[].host: string, required",
    "labels: map of string",
    "free: object free",
  ]);
});

test("the names that every object has are left out at the root only", () => {
  const metadata = { type: "object", properties: { name: { type: "string" } } };
  const schema = { properties: { metadata, template: { type: "object", properties: { metadata } } } };
  assert.deepEqual(contractLines(schema), [
    "template: object",
    "template.metadata: object",
    "template.metadata.name: string",
  ]);
});

test("rules are named by what they say to people, with the place they hold for", () => {
  const rule = { rule: "self.a != self.b", message: "a and b differ" };
  const schema = {
    "x-kubernetes-validations": [rule],
    properties: { spec: { type: "object", "x-kubernetes-validations": [rule] } },
  };
  assert.deepEqual(contractLines(schema), [
    " rule: a and b differ",
    "spec: object",
    "spec rule: a and b differ",
  ]);
});

test("a value that is not a schema has no lines and is no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const line of contractLines({ properties: { field: value } })) assert.equal(typeof line, "string");
      assert.ok(Array.isArray(contractLines(value)));
    }),
  );
});
