import assert from "node:assert/strict";
import { test } from "node:test";
import type { Managed, Observation } from "./external.ts";
import { managedFinalizer, planAction, planBeginning } from "./plan.ts";

const never = (): boolean => false;
const always = (): boolean => true;

function managed(metadata: Managed["metadata"], spec: Managed["spec"] = {}): Managed {
  return { apiVersion: "example.org/v1", kind: "Crate", metadata: { name: "box", ...metadata }, spec };
}
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [managedFinalizer] };
const paused = { "crossplane.io/paused": "true" };

test("a pause comes first, also before a deletion; no other value is one", () => {
  assert.equal(planBeginning(managed({ annotations: paused }), never), "pause");
  assert.equal(planBeginning(managed({ ...deleted, annotations: paused }), always), "pause");
  assert.equal(
    planBeginning(managed({ annotations: { "crossplane.io/paused": "false" } }), never),
    "observe",
  );
});

test("a deletion is ignored without our finalizer, and released where nothing has to go from the backend", () => {
  assert.equal(planBeginning(managed({ ...deleted, finalizers: ["example.org/other"] }), always), "ignore");
  assert.equal(planBeginning(managed(deleted), never), "observe");
  assert.equal(planBeginning(managed(deleted), always), "release");
  assert.equal(planBeginning(managed(deleted, { deletionPolicy: "Orphan" }), never), "release");
  assert.equal(planBeginning(managed(deleted, { managementPolicies: ["Observe"] }), never), "release");
});

test("what was never created matters to deletions only", () => {
  assert.equal(planBeginning(managed({}), always), "observe");
});

const readiness = ["available", "creating", "deleting", "unavailable"] as const;

test("for every observation there is one action at most, and only what the policies allow", () => {
  for (const ready of readiness)
    for (const exists of [true, false])
      for (const upToDate of [true, false])
        for (const policies of [undefined, ["*"], ["Observe"], ["Observe", "Create"], ["Update", "Delete"]]) {
          const observed: Observation = { exists, upToDate, ready };
          const object = managed({}, { managementPolicies: policies });
          const may = (action: string): boolean =>
            policies === undefined || policies.includes("*") || policies.includes(action);
          const expected = !exists && may("Create") ? "create" : undefined;
          const change = exists && !upToDate && may("Update") ? "update" : undefined;
          assert.equal(planAction(object, false, observed), expected ?? change);
          assert.equal(
            planAction(object, true, observed),
            exists && ready !== "deleting" ? "delete" : undefined,
          );
        }
});
