import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeError } from "./errors.ts";
import { startLeashed } from "./leash.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a shell on a leash says what it has to say, and cleans up when it is let go", async () => {
  const leashed = startLeashed("test", 'echo "$0 $1"; read -r _; exit 7', ["one two"], env);
  assert.equal(await leashed.line(), "test one two");
  await leashed[Symbol.asyncDispose]();
  assert.equal(await leashed.exited, 7);
});

test("a shell that ends before it spoke is an error with its complaint", async () => {
  const leashed = startLeashed("test", "echo complaint >&2; exit 3", [], env);
  await assert.rejects(
    leashed.line(),
    (error) => error instanceof NodeError && error.message === "test ended with code 3: complaint",
  );
});

test("of many complaints the last ones are told, in their order", async () => {
  const leashed = startLeashed("test", "seq 30 >&2; exit 3", [], env);
  const last = Array.from({ length: 20 }, (_, index) => String(index + 11)).join("\n");
  await assert.rejects(leashed.line(), { message: `test ended with code 3: ${last}` });
});
