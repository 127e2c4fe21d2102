import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { withHarmlessWords } from "./schema-words.ts";

const schema = (words: string, spec: object): Readonly<Record<string, unknown>> => ({
  type: "object",
  description: words,
  properties: { description: { type: "string", title: words }, spec },
});

test("sentences lose what steers a terminal; line ends and tabs stay", () => {
  const evil = "Pay\u001b[2J\u202e me\n\there";
  const rule = { rule: "self.a < 9", message: evil, messageExpression: String.raw`'\u001b[31m' + self.b` };
  const read = withHarmlessWords(schema(evil, { "x-kubernetes-validations": [rule] }));
  const plain = "Pay [2J  me\n\there";
  assert.deepEqual(read, {
    schema: schema(plain, { "x-kubernetes-validations": [{ rule: rule.rule, message: plain }] }),
  });
});

test("a schema without such characters is the same one, also with a computed message", () => {
  const rule = { rule: "self.a < 9", messageExpression: "'at most ' + self.b", message: "zu groß: 東京" };
  const honest = schema("One\n\tline.", { pattern: "^[\\x00\\t]+$", "x-kubernetes-validations": [rule] });
  const read = withHarmlessWords(honest);
  assert.equal(read.schema, honest);
});

test("a name or value that steers a terminal is refused, and the sentence says where", () => {
  for (const [spec, where] of [
    [
      { properties: { "b\u001b[7m": {} } },
      /^openAPIV3Schema\.properties\.spec\.properties: .*"b\\u001b\[7m"/,
    ],
    [{ enum: ["a", "a\u009b7m"] }, /^openAPIV3Schema\.properties\.spec\.enum\[1\]: /],
    [{ default: { a: ["\u0007"] } }, /spec\.default\.a\[0\]: has control characters in "\\u0007"/],
    [{ pattern: "^\u001b" }, /spec\.pattern: /],
    [{ "x-kubernetes-validations": [{ rule: "self != '\u001b[2J'" }] }, /validations\[0\]\.rule: /],
  ] as const) {
    const read = withHarmlessWords(schema("", spec));
    assert.match(read.problem ?? "", where);
    assert.doesNotMatch(read.problem ?? "", /\p{Cc}/u);
  }
});

test("a schema that is not refused has no control characters but tabs and line ends", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const read = withHarmlessWords({ description: JSON.stringify(value), enum: [value] });
      const texts: string[] = [];
      JSON.stringify(read, (name, item: unknown) => {
        texts.push(name, typeof item === "string" ? item : "");
        return item;
      });
      assert.ok(read.problem !== undefined || texts.every((text) => !/[\p{Cc}--[\t\n\r]]/v.test(text)));
    }),
  );
});
