import assert from "node:assert/strict";
import { test } from "node:test";
import { createProgress } from "./progress.ts";

test("a step is printed when it begins and, with its time, when it is done", async () => {
  const lines: string[] = [];
  let now = 1_000;
  const progress = createProgress(
    (line) => void lines.push(line),
    () => now,
    new AbortController().signal,
  );
  now += 1_500;
  const result = await progress.step("two clusters", () => {
    progress.say("one is up");
    now += 2_000;
    return Promise.resolve(42);
  });
  assert.equal(result, 42);
  assert.deepEqual(lines, [
    "[   1.5 s] two clusters …",
    "           one is up",
    "[   3.5 s] two clusters: done in 2.0 s",
  ]);
});

test("Ctrl-C ends a step that waits for something that never comes, and no further step begins", async () => {
  const stop = new AbortController();
  const progress = createProgress(
    () => undefined,
    () => 0,
    stop.signal,
  );
  const waiting = progress.step("for ever", () => new Promise(() => undefined));
  stop.abort(new Error("stopped by SIGINT"));
  await assert.rejects(waiting, /stopped by SIGINT/);
  let hasBegun = false;
  const next = progress.step("next", () => Promise.resolve((hasBegun = true)));
  await assert.rejects(next, /stopped by SIGINT/);
  assert.equal(hasBegun, false);
});

test("lines of work side by side say whose they are, and a step is one line", async () => {
  const lines: string[] = [];
  let now = 0;
  const progress = createProgress(
    (line) => void lines.push(line),
    () => now,
    new AbortController().signal,
  );
  await progress.beside("MariaDB").step("a Backup is Ready", () => {
    progress.beside("KeyValue").say("one\ntwo");
    now += 1_200;
    return Promise.resolve();
  });
  assert.deepEqual(lines, [
    "           KeyValue    one",
    "           KeyValue    two",
    "           MariaDB     a Backup is Ready: 1.2 s",
  ]);
});
