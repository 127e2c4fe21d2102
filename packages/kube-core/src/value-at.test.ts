import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonOf, listAt, numberAt, recordAt, recordsAt, textAt, valueAt } from "./value-at.ts";

const object = {
  metadata: { name: "one", labels: { "a/b": "c" }, generation: 3 },
  spec: { empty: "", nothing: null, off: false, list: [{ name: "x" }, "y", null, ["z"]] },
};

test("a value is found by the names of its fields, and no path is the value itself", () => {
  assert.equal(valueAt(object, "metadata", "labels", "a/b"), "c");
  assert.equal(valueAt(object), object);
  assert.equal(valueAt(object, "spec", "nothing"), null);
  assert.equal(valueAt(object, "spec", "off"), false);
  assert.equal(textAt("text"), "text");
});

test("a value that is missing, of another type or inherited reads as undefined", () => {
  assert.equal(valueAt(object, "metadata", "name", "length"), undefined);
  assert.equal(valueAt(object, "spec", "list", "0"), undefined);
  assert.equal(valueAt(object, "spec", "nothing", "deeper"), undefined);
  assert.equal(valueAt(object, "constructor"), undefined);
  assert.equal(valueAt(JSON.parse('{"__proto__":{"a":1}}'), "__proto__", "a"), 1);
  assert.equal(textAt(object, "metadata", "generation"), undefined);
  assert.equal(numberAt(object, "metadata", "name"), undefined);
  assert.deepEqual(recordAt(object, "spec", "list"), {});
  assert.deepEqual(listAt(object, "spec"), []);
  assert.deepEqual(recordsAt(object, "spec"), []);
});

test("a text that is no JSON, and none, read as undefined", () => {
  assert.deepEqual(jsonOf('{"a":[1]}'), { a: [1] });
  assert.equal(jsonOf("null"), null);
  for (const text of ["", "{", undefined]) assert.equal(jsonOf(text), undefined);
});

test("an empty text is none", () => {
  assert.equal(textAt(object, "spec", "empty"), undefined);
});

test("each reader gives what it is asked for", () => {
  assert.equal(textAt(object, "metadata", "name"), "one");
  assert.equal(numberAt(object, "metadata", "generation"), 3);
  assert.equal(recordAt(object, "metadata", "labels"), object.metadata.labels);
  assert.equal(listAt(object, "spec", "list"), object.spec.list);
  assert.deepEqual(recordsAt(object, "spec", "list"), [{ name: "x" }]);
});

test("no reader throws, whatever the value is", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), fc.array(fc.string()), (value, path) => {
      for (const read of [valueAt, textAt, numberAt, recordAt, listAt, recordsAt]) read(value, ...path);
    }),
  );
});
