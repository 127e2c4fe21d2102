import assert from "node:assert/strict";
import { test } from "node:test";
import type { StandardCondition } from "@klutch/kube-core";
import fc from "fast-check";
import { type NewCondition, notSynced, readyCondition, synced, withConditions } from "./conditions.ts";
import type { Managed } from "./external.ts";

function managed(conditions: readonly StandardCondition[], generation?: number): Managed {
  const metadata = { name: "box", generation };
  return { apiVersion: "example.org/v1", kind: "Crate", metadata, spec: {}, status: { conditions } };
}

const change = fc.constantFrom<NewCondition>(
  synced,
  notSynced("one"),
  notSynced("two"),
  readyCondition("available"),
  readyCondition("creating", "soon"),
  readyCondition("deleting"),
);

test("each state of Ready has Crossplane's reason", () => {
  const words = (["available", "creating", "deleting", "unavailable"] as const).map((ready) => {
    const { status, reason } = readyCondition(ready);
    return `${status} ${reason}`;
  });
  assert.deepEqual(words, ["True Available", "False Creating", "False Deleting", "False Unavailable"]);
});

test("an unknown state is neither ready nor not ready, and a reason can be more exact than the usual one", () => {
  assert.deepEqual(readyCondition("unknown"), { type: "Ready", status: "Unknown", reason: "Unknown" });
  const gone = readyCondition("unavailable", "it is gone", "Deleted");
  assert.deepEqual(gone, { type: "Ready", status: "False", reason: "Deleted", message: "it is gone" });
});

test("the generation that was seen is noted, and left out where there is none", () => {
  assert.equal(withConditions(managed([], 7), [synced], "t1")[0]?.observedGeneration, 7);
  assert.equal("observedGeneration" in (withConditions(managed([]), [synced], "t1")[0] ?? {}), false);
});

test("a condition of somebody else stays as it is", () => {
  const other = { type: "Healthy", status: "True", reason: "Fine", lastTransitionTime: "t0" };
  assert.deepEqual(
    withConditions(managed([other]), [synced], "t1").find(({ type }) => type === "Healthy"),
    other,
  );
});

test("whatever happens, each type stands once, in order, and its time is that of its last change", () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
      let conditions: readonly StandardCondition[] = [];
      const expected = new Map<string, { readonly text: string; readonly since: string }>();
      for (const [index, next] of changes.entries()) {
        const now = `t${index}`;
        conditions = withConditions(managed(conditions), [next], now);
        const text = JSON.stringify([next.status, next.reason, next.message]);
        const same = expected.get(next.type)?.text === text;
        if (!same) expected.set(next.type, { text, since: now });
      }
      assert.deepEqual(
        conditions.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`),
        [...expected].map(([type, { since }]) => `${type} ${since}`).toSorted(),
      );
    }),
  );
});
