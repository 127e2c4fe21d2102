import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isDnsLabel, isDnsSubdomain, maxLabelLength, maxSubdomainLength } from "./dns-name.ts";

const good = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);

test("labels, and labels with dots between, are names", () => {
  fc.assert(
    fc.property(fc.array(good, { minLength: 1, maxLength: 8 }), (labels) => {
      for (const one of labels) assert.ok(isDnsLabel(one), one);
      assert.ok(isDnsSubdomain(labels.join(".")));
      assert.equal(isDnsLabel(labels.join(".")), labels.length === 1);
    }),
  );
});

test("what has another character or ends in a dash is no name", () => {
  for (const text of ["", "-a", "a-", "a/b", "A", "a\n", "a_b", " a", "ä", "%2e"]) {
    assert.ok(!isDnsLabel(text), text);
    assert.ok(!isDnsSubdomain(text), text);
    assert.ok(!isDnsSubdomain(`a.${text}.b`), text);
  }
  for (const text of [".", "..", "a.", ".a", "a..b"]) assert.ok(!isDnsSubdomain(text), text);
  assert.ok(!isDnsLabel("a.b"));
});

test("a name has a longest length", () => {
  assert.ok(isDnsLabel("a".repeat(maxLabelLength)));
  assert.ok(!isDnsLabel("a".repeat(maxLabelLength + 1)));
  assert.ok(isDnsSubdomain("a".repeat(maxSubdomainLength)));
  assert.ok(!isDnsSubdomain("a".repeat(maxSubdomainLength + 1)));
});
