import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatYaml, parseYaml, parseYamlDocuments } from "./yaml.ts";

test("printed YAML is read back the same", () => {
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

test("words are read as YAML 1.2 has them, whatever a directive says", () => {
  const text = "a: yes\nb: NO\nc: 012\nd: 1_000\ne: 12:30:45\nf: 2001-01-01\n";
  const read = { a: "yes", b: "NO", c: 12, d: "1_000", e: "12:30:45", f: "2001-01-01" };
  assert.deepEqual(parseYaml(text), read);
  assert.deepEqual(parseYaml(`%YAML 1.1\n---\n${text}`), read);
  assert.deepEqual(parseYaml("a: true\nb: ~\nc: 0x1F\nd: 1e3\n"), { a: true, b: null, c: 31, d: 1000 });
});

test("a merge key is a key like others, and an alias brings the value of its anchor", () => {
  assert.deepEqual(parseYaml("a: &a { b: 1 }\nc:\n  <<: *a\n  d: *a\n"), {
    a: { b: 1 },
    c: { "<<": { b: 1 }, d: { b: 1 } },
  });
});

test("ambiguous or hostile YAML is refused, and nothing of it becomes a prototype", () => {
  for (const [hostile, message] of [
    ["a: 1\na: 2\n", /duplicated mapping key/],
    ["? [1]\n: 2\n", /complex keys/],
    ["a: !!binary aGk=\n", /unknown scalar tag/],
    ["a: !!set {b}\n", /unknown mapping tag/],
    ["a: !made b\n", /unknown scalar tag/],
    ["a: \u0000\n", /null byte/],
    ["a: 1\n...\nb: 2\n", /single document/],
    ["a: *gone\n", /unidentified alias/],
    ["[".repeat(3_000), /maxDepth/],
    [Array.from({ length: 2_000 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"), /maxDepth/],
  ] as const)
    assert.throws(() => parseYaml(hostile), message, hostile.slice(0, 40));
  const read = parseYaml("__proto__: { isAdmin: true }\n");
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
  assert.equal(Reflect.get(Object(read), "isAdmin"), undefined);
});
