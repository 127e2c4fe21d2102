import assert from "node:assert/strict";
import { test } from "node:test";
import { objectStateOf } from "./object-state.ts";

const now = "2026-01-01T00:00:00Z";
const condition = (type: string, status: "True" | "False" | "Unknown", reason: string) => ({
  type,
  status,
  reason,
});
const ready = condition("Ready", "True", "Available");
const synced = condition("Synced", "True", "ReconcileSuccess");
const creating = condition("Ready", "False", "Creating");

const cases = [
  ["nothing is said yet", [], undefined, "pending", ""],
  ["it is made", [creating, synced], undefined, "pending", "Creating"],
  [
    "it waits for another object",
    [creating, condition("Synced", "False", "WaitingForInstance")],
    undefined,
    "pending",
    "WaitingForInstance",
  ],
  [
    "Crossplane waits for its parts",
    [condition("Ready", "False", "Waiting"), synced],
    undefined,
    "pending",
    "Waiting",
  ],
  ["all is well", [ready, synced], undefined, "ready", "Available"],
  ["a change was refused", [ready, condition("Synced", "False", "Refused")], undefined, "ready", "Refused"],
  [
    "a pause",
    [ready, condition("Synced", "False", "ReconcilePaused")],
    undefined,
    "ready",
    "ReconcilePaused",
  ],
  [
    "the broker is away",
    [creating, condition("Synced", "False", "BrokerUnreachable")],
    undefined,
    "failed",
    "BrokerUnreachable",
  ],
  ["it is lost", [condition("Ready", "False", "Lost"), synced], undefined, "failed", "Lost"],
  [
    "it cannot be composed",
    [condition("Ready", "False", "CannotCompose"), synced],
    undefined,
    "failed",
    "CannotCompose",
  ],
  ["it is deleted", [condition("Ready", "False", "Deleting"), synced], now, "deleting", "Deleting"],
  [
    "its deletion fails",
    [ready, condition("Synced", "False", "BrokerUnreachable")],
    now,
    "deleting",
    "BrokerUnreachable",
  ],
  [
    "bindings hold its deletion",
    [ready, condition("Synced", "False", "StillBound")],
    now,
    "held",
    "StillBound",
  ],
] as const;

for (const [title, conditions, deletionTimestamp, state, reason] of cases)
  test(`state of an object: ${title}`, () => {
    assert.deepEqual(objectStateOf({ metadata: { deletionTimestamp }, conditions }), { state, reason });
  });
