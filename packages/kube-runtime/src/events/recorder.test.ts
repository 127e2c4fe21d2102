import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { createEventRecorder, type EventRecorder } from "./recorder.ts";

function recorder(): { events: EventRecorder; written: DynamicObject[]; clock: VirtualClock } {
  const written: DynamicObject[] = [];
  const clock = new VirtualClock();
  const create = (_type: unknown, event: DynamicObject): Promise<DynamicObject> => {
    written.push(event);
    return Promise.resolve(event);
  };
  return {
    events: createEventRecorder({
      client: fakeClient({ create }),
      clock,
      logger: silentLogger,
      component: "tests",
    }),
    written,
    clock,
  };
}

const about: DynamicObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "app", name: "s", uid: "u" },
};

test("an event in the provider's words has one line, no control characters, a bounded text and a plain reason", async () => {
  const { events, written } = recorder();
  await events.record(about, "Warning", "Bad\u001b[31mReason", `one\ntwo\u001b[2J${"x".repeat(100_000)}`);
  const [event] = written;
  assert.equal(event?.["reason"], "Other");
  assert.deepEqual(event?.["source"], { component: "tests" });
  const message = String(event?.["message"]);
  assert.ok(message.startsWith("one two [2Jxxx"), message.slice(0, 40));
  assert.equal(message.length, 1024);
});

test("however many warnings the provider causes, only some become events, and later ones again", async () => {
  const { events, written, clock } = recorder();
  for (let index = 0; index < 10_000; index++) events.recordWarning(about, "Odd", `number ${index}`);
  assert.equal(written.length, 50);
  await clock.advance(60_000);
  for (let index = 0; index < 10_000; index++) events.recordWarning(about, "Odd", `later ${index}`);
  assert.equal(written.length, 80);
  await events.record(about, "Warning", "DeletionHeld", "what needs attention is recorded all the same");
  assert.equal(written.length, 81);
});

test("a warning that was recorded already costs nothing of the budget", () => {
  const { events, written } = recorder();
  for (let index = 0; index < 1_000; index++) events.recordWarning(about, "Odd", "the same");
  events.recordWarning(about, "Odd", "another");
  assert.equal(written.length, 2);
});

test("two objects of which no UID is known do not silence each other", () => {
  const { events, written } = recorder();
  for (const name of ["one", "two", "one"])
    events.recordWarning({ ...about, metadata: { namespace: "app", name } }, "Odd", "the same");
  const names = written.map(({ involvedObject }) => involvedObject);
  assert.deepEqual(names, [
    { apiVersion: "v1", kind: "Secret", namespace: "app", name: "one" },
    { apiVersion: "v1", kind: "Secret", namespace: "app", name: "two" },
  ]);
});
