import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "@klutch/engines";
import { startWatchdog } from "./command.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a watchdog is heard line by line, and cleans up when it is disposed", async () => {
  const watchdog = startWatchdog("test", 'echo "$0 $1"; read -r _; exit 7', ["one two"], env);
  assert.equal(await watchdog.line(), "test one two");
  await watchdog[Symbol.asyncDispose]();
  assert.equal(await watchdog.exited, 7);
});

test("a shell that ends before it spoke is an error with its complaint", async () => {
  const watchdog = startWatchdog("test", "echo complaint >&2; exit 3", [], env);
  await assert.rejects(
    watchdog.line(),
    (error) => error instanceof EngineError && error.message === "test ended with code 3: complaint",
  );
});

test("the last of many error lines are reported, in their order", async () => {
  const watchdog = startWatchdog("test", "seq 30 >&2; exit 3", [], env);
  const last = Array.from({ length: 20 }, (_, index) => String(index + 11)).join("\n");
  await assert.rejects(watchdog.line(), { message: `test ended with code 3: ${last}` });
});
