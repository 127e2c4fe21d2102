import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsAt } from "@klutch/kube-core";
import { saysDeletionHeld } from "./held-deletion.ts";
import { projectStatus } from "./status-projection.ts";
import { plainView, type StatusView } from "./status-view.ts";
import { before, claimOf, fullView, providerOf, ready } from "./testing/statuses.ts";

const now = Date.parse("2026-05-05T05:05:05Z");
const gone = { deletionTimestamp: before };
const available = { observedGeneration: 1, conditions: [ready("True"), { type: "Synced", status: "True" }] };
const why = "6 of 6 claims were deleted within a minute";
const shownBy = (status: unknown, view: StatusView, deletionHeld: string | undefined): unknown =>
  projectStatus({
    view,
    claim: claimOf(2, status, gone),
    provider: providerOf(1, available),
    notSent: undefined,
    deletionHeld,
    now,
  });

test("a claim whose deletion is held is not ready and says why; the rest stays, and it is written once", () => {
  const held = shownBy(available, fullView, why);
  assert.deepEqual(recordsAt(held, "conditions")[0], {
    type: "Ready",
    status: "False",
    reason: "DeletionHeld",
    message: `its deletion is held, because it looks like an accident: ${why}`,
    lastTransitionTime: "2026-05-05T05:05:05Z",
  });
  assert.equal(saysDeletionHeld({ status: held }), true);
  assert.equal(recordsAt(held, "conditions").length, 2);
  assert.deepEqual(shownBy(held, fullView, why), held);
});

test("once the deletion goes on, the claim shows what its provider says", () => {
  const [first] = recordsAt(shownBy(shownBy(available, fullView, why), fullView, undefined), "conditions");
  assert.deepEqual([first?.["status"], first?.["reason"]], ["True", "Available"]);
});

test("a schema without such a condition gets none, and a long cause is cut", () => {
  assert.deepEqual(shownBy(available, plainView, why), available);
  const [first] = recordsAt(shownBy(available, fullView, "x".repeat(2_000)), "conditions");
  assert.equal(String(first?.["message"]).length, 1_024);
});
