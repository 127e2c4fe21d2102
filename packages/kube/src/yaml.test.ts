import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatYaml, parseYaml, parseYamlDocuments } from "./yaml.ts";

test("what is printed is read back the same", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(parseYaml(formatYaml(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("words that a YAML 1.1 reader would turn into booleans, numbers or dates are quoted", () => {
  for (const word of [
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "012",
    "0o14",
    "1_000",
    "12:30:45",
    "~",
    "2001-01-01",
    "1e3",
  ]) {
    assert.match(formatYaml({ word }), /^word: ['"]/, word);
  }
});

test("documents are split and empty ones left out", () => {
  assert.deepEqual(parseYamlDocuments("a: 1\n---\n---\nb: 2\n"), [{ a: 1 }, { b: 2 }]);
});
