import assert from "node:assert/strict";
import { test } from "node:test";
import { untilAborted } from "@klutch/kube-runtime";
import { Running, type Startable, startAll } from "./lifecycle.ts";

/** A part that says what happens to it. */
function recordingPart(name: string, log: string[]): Startable & AsyncDisposable {
  return {
    async start({ signal }) {
      log.push(`${name} works`);
      await untilAborted(signal);
      log.push(`${name} ends`);
    },
    async [Symbol.asyncDispose]() {
      log.push(`${name} is disposed`);
    },
  };
}

test("a running part works at once, and is disposed after its work has ended", async () => {
  const log: string[] = [];
  const running = new Running(recordingPart("part", log));
  assert.deepEqual(log, ["part works"]);
  await running[Symbol.asyncDispose]();
  assert.deepEqual(log, ["part works", "part ends", "part is disposed"]);
});

test("parts that need each other end together when one fails, and its error is reported", async () => {
  const log: string[] = [];
  const failing: Startable = { start: () => Promise.reject(new Error("broken")) };
  const { signal } = new AbortController();
  await assert.rejects(startAll([recordingPart("one", log), failing], signal), /broken/);
  assert.deepEqual(log, ["one works", "one ends"]);
});

test("parts end when the signal aborts, without an error", async () => {
  const log: string[] = [];
  const abort = new AbortController();
  const work = startAll([recordingPart("one", log), recordingPart("two", log)], abort.signal);
  abort.abort(new Error("stopping"));
  await work;
  assert.deepEqual(log, ["one works", "two works", "one ends", "two ends"]);
});
