import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { displayName, displayNameLimit } from "./display-name.ts";

test("an ordinary name stays as it is", () => {
  for (const name of ["prod-eu", "jane@example.org", "Größe 3 (🎉)", "arn:aws:eks:eu-central-1:1:cluster/a"])
    assert.equal(displayName(name), name);
});

test("a name cannot steer a terminal, turn its direction, or look like further columns of a table", () => {
  assert.equal(displayName("prod\u001b[2J\u0007\n\u202eue"), "prod [2J ue");
  assert.equal(
    displayName(" prod \t    True\u00a0\u00a0\u00a0\u00a0\u2003\u2003\u2800\u2800 5m "),
    "prod True 5m",
  );
});

test("a name of 10 kB is cut, and one that is no text or is empty is none", () => {
  assert.equal(displayName("x".repeat(10_240))?.length, displayNameLimit);
  for (const value of [undefined, null, 7, true, {}, ["prod"], "", "  ", "\n\u0000", "\n".repeat(10_000)])
    assert.equal(displayName(value), undefined, JSON.stringify(value));
});

test("whatever the text is, a name is one short line, and naming it again changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
      const name = displayName(text);
      if (name === undefined) return;
      assert.ok(name.length >= 1 && name.length <= displayNameLimit);
      assert.doesNotMatch(name, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\s\s|^\s|\s$/u);
      assert.equal(displayName(name), name);
    }),
  );
});
