import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldRows } from "./field-rows.ts";
import { table } from "./page.ts";

const point = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] };

test("each field has a row with its path, type, default, bounds and rules; required ones are bold", () => {
  const rule = { rule: "self == oldSelf", message: "name is immutable" };
  const schema = {
    type: "object",
    required: ["name"],
    properties: {
      kind: { type: "string" },
      name: { type: "string", minLength: 1, description: "Its name.", "x-kubernetes-validations": [rule] },
      tags: { type: "array", items: { type: "string" }, default: ["a|b"] },
    },
  };
  assert.deepEqual(fieldRows(schema, []), [
    ["**`name`**", "string", "Its name. Shortest 1. Rule: “name is immutable”."],
    ["`tags`", "list of string", 'Default `["a|b"]`.'],
  ]);
  const bars = [["`a|b`", "a\nb", "a\\|b"]];
  assert.deepEqual(table(["one", "two", "three"], bars), [
    "| one | two | three |",
    "|---|---|---|",
    "| `a\\|b` | a b | a\\|b |",
    "",
  ]);
});

test("a shared shape is named, and its fields are not repeated", () => {
  const schema = { type: "object", properties: { path: { type: "array", items: point } } };
  const shape = { title: "Point", samples: [point] };
  assert.deepEqual(fieldRows(schema, [shape]), [["`path`", "list of [point](#point)", ""]]);
  assert.deepEqual(
    fieldRows(schema, []).map(([field]) => field),
    ["`path`", "**`path[].x`**"],
  );
});
