import assert from "node:assert/strict";
import { test } from "node:test";
import { explainedIn, reasonsIn } from "./reasons.ts";

const inKonnector = (text: string): readonly string[] =>
  reasonsIn([{ path: "apps/konnector/src/a.ts", text }]);

test("types and reasons are found where conditions and events are made", () => {
  const text = `
    falseCondition("Connected", "WrongProvider", "Error", message);
    alarmCondition("DeletionHeld", "MassDeletion", "Warning", why);
    await events.record(consumer, "Warning", "SyncFailed", text);
    events.recordWarning(
      pair.consumer ?? wouldBe(type, ref),
      "TooManyObjects",
      text,
    );
    const texts = { mapping: ["Normal", "WaitingForNamespace", "wait"] };`;
  assert.deepEqual(reasonsIn([{ path: "packages/any/src/a.ts", text }]), [
    "Connected",
    "DeletionHeld",
    "MassDeletion",
    "SyncFailed",
    "TooManyObjects",
    "WaitingForNamespace",
    "WrongProvider",
  ]);
});

test("a word in a constant of the file is found, and a name of something else is not", () => {
  const text = `
    const limits = "WithinLimits";
    falseCondition(limits, "TooMany", "Error", message);
    falseCondition(type, reason, "Error", message);`;
  assert.deepEqual(inKonnector(text), ["TooMany", "WithinLimits"]);
});

test("in parts that make conditions, fields and unions of reasons are found", () => {
  const text = `
    return { type: "Terminating", status: "True", reason: "InUse" };
    type Reason = "Forbidden" | "NotServed";
    const reason = isNew ? "CreateFailed" : "UpdateFailed";
    return { reason: found ?? said.reason ?? "Unhealthy" };
    throw new ExternalError(message, { reason: "Refused" });`;
  assert.deepEqual(inKonnector(text), [
    "CreateFailed",
    "Forbidden",
    "InUse",
    "NotServed",
    "Refused",
    "Terminating",
    "Unhealthy",
    "UpdateFailed",
  ]);
  assert.deepEqual(reasonsIn([{ path: "packages/kube/src/a.ts", text }]), []);
});

test("a page explains the words of the first cells of its rows", () => {
  const page = "| reason | means |\n|---|---|\n| `One`, `Two`: `Three` | see `Four` |\n\n`Five`\n";
  assert.deepEqual([...explainedIn(page)], ["One", "Two", "Three"]);
});
