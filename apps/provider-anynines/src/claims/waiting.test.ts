import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNotRestored, checkUnused } from "./waiting.ts";

const nobody = { restores: [], bindings: [], backups: [] };

test("the users of an instance are named in the order in which they can be deleted", () => {
  checkUnused(nobody);
  assert.throws(() => checkUnused({ ...nobody, bindings: ["x", "y"] }), {
    message: "the instance is still bound by x, y; delete these ServiceBindings first",
    reason: "StillBound",
  });
  assert.throws(() => checkUnused({ restores: ["r"], bindings: ["x"], backups: ["b", "c"] }), {
    message:
      "the instance is still restored by r; wait until they have ended; it is still bound by x; delete these ServiceBindings first; it is still needed by the backups b, c; delete these Backups first",
  });
});

test("a restore that runs is waited for by name", () => {
  checkNotRestored([], "it is bound");
  assert.throws(() => checkNotRestored(["r"], "it is bound"), {
    message: "the restore r of the instance is running; it is bound afterwards",
    requeueAfterMs: 5_000,
    reason: "WaitingForRestore",
  });
});
