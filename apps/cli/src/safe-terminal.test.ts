import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableLines } from "@klutch/api";
import { safeTerminal } from "./safe-terminal.ts";
import { scriptedRun } from "./testing/script.ts";

const hostile =
  "a\u001b[2Jb\r\nc\u009b31m\u0007\u202egnp\u2066x\u2069\u200b\u2028\u{e0041}\ud800\u007f\ttail";

test("nothing of a foreign text steers the terminal, breaks the line or turns its direction", () => {
  const shown = printable(hostile);
  assert.match(shown, /^[\x20-\x7e]+$/);
  assert.equal(
    shown,
    String.raw`a\u001b[2Jb\r\nc\u009b31m\u0007\u202egnp\u2066x\u2069\u200b\u2028\udb40\udc41\ud800\u007f\ttail`,
  );
  assert.equal(printable("Größe 😀 日本語"), "Größe 😀 日本語");
});

test("a long text is cut, and how much is missing is said", () => {
  const shown = printable("x".repeat(1_000_000));
  assert.equal(shown.length < 1100, true);
  assert.match(shown, /… \(999000 more characters\)$/);
});

test("a text that we laid out keeps its lines, and JSON keeps its meaning", () => {
  assert.equal(printableLines("a\n\tb\u001b\n"), "a\n\tb\\u001b\n");
  const value = { text: hostile };
  assert.deepEqual(JSON.parse(printableLines(JSON.stringify(value, null, 2))), value);
});

test("whatever a command prints goes through the same function", async () => {
  const run = scriptedRun({ browser: () => {}, answers: ["yes"] });
  const terminal = safeTerminal(run.context.terminal);
  terminal.say(hostile);
  terminal.out(hostile);
  terminal.waiting(hostile)();
  assert.equal(await terminal.confirm("sure?"), true);
  assert.match(run.stdout() + run.stderr(), /^[\x20-\x7e\n\t]+$/);
});
