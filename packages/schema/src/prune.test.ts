import assert from "node:assert/strict";
import { test } from "node:test";
import { EffortError, Effort } from "./effort.ts";
import { prunedFields } from "./prune.ts";
import { SchemaReader } from "./reader.ts";

const inner = { type: "object", properties: { known: { type: "string" } } };

test("unknown fields are named with their place, and nothing below them is", () => {
  const schema = {
    type: "object",
    properties: {
      one: inner,
      many: { type: "array", items: inner },
      map: { type: "object", additionalProperties: inner },
    },
  };
  const value = {
    one: { known: "a", old: { deep: 1 } },
    many: [{ known: "a" }, { lost: 1, known: "b" }],
    map: { x: { lost: 1 }, y: {} },
    gone: 1,
  };
  assert.deepEqual(prunedFields(schema, value), ["one.old", "many[1].lost", "map.x.lost", "gone"]);
});

test("what keeps unknown fields keeps them, but not below the fields that it knows", () => {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { one: inner } };
  assert.deepEqual(prunedFields(schema, { anything: { at: "all" }, one: { lost: 1 } }), ["one.lost"]);
});

test("values of another type than the schema's have nothing to prune", () => {
  const schema = { type: "object", properties: { one: inner } };
  for (const value of [null, 1, "x", [{ a: 1 }], undefined])
    assert.deepEqual(prunedFields(schema, value), []);
  assert.deepEqual(prunedFields({ type: "array" }, [{ a: 1 }]), []);
});

test("a field called like one of every object is an unknown field like any other", () => {
  const value: unknown = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}');
  assert.deepEqual(prunedFields(inner, value), ["__proto__", "constructor", "toString"]);
});

test("the effort that is given ends it", () => {
  const schema = { type: "array", items: inner };
  const value = Array.from({ length: 1_000 }, () => ({ known: "a" }));
  const reader = new SchemaReader(new Effort(100));
  assert.throws(() => prunedFields(schema, value, "", reader), EffortError);
});
