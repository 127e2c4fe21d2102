import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cleanerFor, cleanText, longestText } from "./foreign-text.ts";

test("control, format and invisible characters become one space each run", () => {
  assert.equal(cleanText("a\u001b[2J\u202etxt\r\n\u2028b\u200b\ufeffc\u0000"), "a [2J txt b c");
});

test("text that is too long is cut between characters and says so", () => {
  assert.equal(cleanText("abcdef", 4), "abc…");
  assert.equal(cleanText("abcd", 4), "abcd");
  assert.equal(cleanText("ab\u{1f600}\u{1f600}", 4), "ab…");
  assert.equal(cleanText("x".repeat(1_000_000)).length, longestText);
});

test("secrets do not show, plain or as they stand in an address or in JSON, not even where the text is cut", () => {
  const clean = cleanerFor(["p/w ord", "dTpwL3cgb3Jk", "p/w ord and more"]);
  assert.equal(clean("login with p/w ord failed"), "login with [redacted] failed");
  assert.equal(clean("GET http://u:p%2Fw%20ord@host"), "GET http://u:[redacted]@host");
  assert.equal(cleanerFor(['a"b\\c'])(String.raw`{"key":"a\"b\\c"}`), '{"key":"[redacted]"}');
  assert.equal(clean("Authorization: Basic dTpwL3cgb3Jk"), "Authorization: Basic [redacted]");
  assert.equal(clean("p/w ord and more"), "[redacted]");
  assert.equal(clean("1234567 p/w ord", 12), "1234567 [re…");
});

test("removing characters from the text never assembles a secret", () => {
  assert.equal(cleanerFor(["pass word"])("pass\u0000word"), "[redacted]");
});

test("a secret of three characters is not looked for: it would be found in any word", () => {
  assert.equal(cleanerFor(["a", "pw"])("a powerful pw"), "a powerful pw");
});

test("whatever is said, one short line comes out, without any secret", () => {
  const secret = "correct horse";
  const clean = cleanerFor([secret]);
  const said = fc.oneof(
    fc
      .array(fc.constantFrom("correct", "horse", " ", "\u0000", "\u202e", "x".repeat(150)))
      .map((all) => all.join("")),
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.tuple(fc.string({ unit: "binary" }), fc.string()).map(([before, after]) => before + secret + after),
  );
  fc.assert(
    fc.property(said, fc.integer({ min: 1, max: 400 }), (text, limit) => {
      const shown = clean(text, limit);
      assert.ok(shown.length <= limit, shown);
      assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u);
      assert.ok(!shown.includes(secret));
    }),
    { numRuns: 2_000 },
  );
});
