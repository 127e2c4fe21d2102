import assert from "node:assert/strict";
import { test } from "node:test";
import { harmlessText, plainText } from "./text.ts";

test("foreign text is one line without control characters and without marks that turn its direction", () => {
  assert.equal(plainText("no more\ndisks\u001b[2J\u0007here\u0000"), "no more disks [2J here");
  assert.equal(plainText("a\u202etxt.exe\u2066b\u200bc\ufeff"), "a txt.exe b c");
  assert.equal(plainText("Größe 3 → 4 für „db“ 🎉"), "Größe 3 → 4 für „db“ 🎉");
});

test("foreign text is cut at its limit, also in the midst of a character, and however long it is", () => {
  assert.equal(plainText("abcdef", 4), "abc…");
  assert.equal(plainText("abcd", 4), "abcd");
  assert.equal(plainText("a🎉b", 3), "a\ufffd…");
  assert.equal(plainText("x".repeat(10_000_000)).length, 1024);
  assert.equal(plainText(`${"\n".repeat(5_000)}x`), "…");
});

test("a text of several lines loses what steers a terminal, and keeps its lines and its length", () => {
  assert.equal(harmlessText("no\u001b[2J\r\n\tdisk\u202e\u0000s "), "no [2J \n\tdisk s ");
  const honest = `${"Größe „db“ 🎉\n\t".repeat(10_000)}`;
  assert.equal(harmlessText(honest), honest);
});
