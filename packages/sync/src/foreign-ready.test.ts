import assert from "node:assert/strict";
import { test } from "node:test";
import { recordAt, recordsAt } from "@klutch/kube-core";
import { withReady } from "./foreign-ready.ts";
import { asConditions } from "./status-conditions.ts";
import { projectStatus } from "./status-projection.ts";
import type { StatusView } from "./status-view.ts";
import { before, claimOf, fullView, providerOf, ready } from "./testing/statuses.ts";

const view: StatusView = { ...fullView, readyCondition: "ACK.ResourceSynced" };
const synced = (status: string, more: object = {}): object => ({
  type: "ACK.ResourceSynced",
  status,
  message: `says ${status}`,
  lastTransitionTime: before,
  ...more,
});
const refused = { type: "ACK.Recoverable", status: "True", message: "InvalidBucketName: not valid" };
const readyOf = (conditions: readonly unknown[], seen: StatusView = view): unknown =>
  withReady(asConditions({ conditions }), seen).find(({ type }) => type === "Ready");

test("the condition that stands for Ready makes one with its status, time and message", () => {
  for (const status of ["True", "False", "Unknown"])
    assert.deepEqual(readyOf([synced(status)]), {
      type: "Ready",
      status,
      reason: "ResourceSynced",
      message: `says ${status}`,
      lastTransitionTime: before,
    });
});

test("while it is not True, the causes that the operator tells follow; then they are of the time before", () => {
  const message = "says Unknown; ACK.Recoverable: InvalidBucketName: not valid";
  const late = { type: "ACK.LateInitialized", status: "True" };
  const settled = { ...refused, type: "ACK.Terminal", status: "False" };
  assert.equal(recordAt(readyOf([refused, synced("Unknown"), late, settled]))["message"], message);
  assert.equal(recordAt(readyOf([refused, synced("True")]))["message"], "says True");
  const long = { ...refused, message: "m".repeat(2_000) };
  assert.equal(String(recordAt(readyOf([long, synced("False")]))["message"]).length, 1_024);
});

test("an operator that writes Ready speaks for itself, and another status makes none", () => {
  assert.deepEqual(readyOf([synced("True"), ready("False")]), ready("False"));
  assert.equal(readyOf([{ ...synced("True"), type: "Synced" }]), undefined);
  assert.equal(readyOf([synced("Maybe")]), undefined);
  assert.equal(readyOf([synced("True")], fullView), undefined);
  assert.equal(readyOf([synced("True")], { ...view, mayBeUnknown: false }), undefined);
});

test("only fields that the schema has are written", () => {
  const bare = { ...view, conditions: ["message"] as const };
  assert.deepEqual(readyOf([synced("True")], bare), { type: "Ready", status: "True", message: "says True" });
});

test("a claim shows it for the spec that was sent, and Unknown with its words for one that was not", () => {
  const provider = providerOf(2, { conditions: [synced("True", { observedGeneration: 2 })] });
  const told = { view, claim: claimOf(5), provider, now: Date.parse(before) };
  const readyIn = (status: unknown): unknown =>
    recordsAt(status, "conditions").find(({ type }) => type === "Ready");
  assert.deepEqual(readyIn(projectStatus({ ...told, notSent: undefined })), {
    type: "Ready",
    status: "True",
    reason: "ResourceSynced",
    message: "says True",
    lastTransitionTime: before,
    observedGeneration: 5,
  });
  const older = providerOf(3, { conditions: [synced("True", { observedGeneration: 2 })] });
  for (const [provided, notSent] of [
    [older, undefined],
    [provider, "no namespace"],
  ] as const) {
    const shown = recordAt(readyIn(projectStatus({ ...told, provider: provided, notSent })));
    assert.equal(shown["status"], "Unknown");
    assert.match(String(shown["message"]), /of the one before it said True \(ResourceSynced: says True\)$/);
  }
});
