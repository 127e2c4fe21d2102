import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./command.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a program gets its input and gives its output, also when it does not read to the end", async () => {
  assert.equal(await run({ command: "cat", args: [], env }, "one\ntwo\n"), "one\ntwo\n");
  const much = new Uint8Array(4 * 1024 * 1024);
  assert.equal(await run({ command: "echo", args: ["done"], env }, much), "done\n");
});

test("a program that fails, or is not there, is named with its complaint", async () => {
  await assert.rejects(run({ command: "sh", args: ["-c", "echo no >&2; exit 3"], env }), {
    code: "CommandFailed",
    message: "sh -c echo no >&2; exit 3 failed: no",
  });
  await assert.rejects(run({ command: "no-such-program", args: ["x"], env }), {
    code: "CommandFailed",
    message: /^no-such-program x failed: .*ENOENT/,
  });
});
