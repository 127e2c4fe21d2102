import assert from "node:assert/strict";
import { test } from "node:test";
import { composedCondition, readyWordsCondition, syncedWordsCondition } from "@klutch/api";
import { asConditions, spokenConditions } from "./status-conditions.ts";

const since = { lastTransitionTime: "2026-01-01T00:00:00Z" };
const cause = {
  type: composedCondition,
  status: "False",
  reason: "CannotCompose",
  message: "a provider is missing",
  ...since,
};
const shown = (...conditions: readonly object[]): readonly string[] =>
  spokenConditions(asConditions({ conditions })).map(({ condition }) =>
    [condition.type, condition.status, condition["reason"], condition["message"]].join(" "),
  );

test("the cause of a composite that cannot be made speaks for the claim", () => {
  const waiting = {
    type: "Ready",
    status: "False",
    reason: "Waiting",
    message: "Claim is waiting",
    ...since,
  };
  const synced = { type: "Synced", status: "True", reason: "ReconcileSuccess", message: "", ...since };
  assert.deepEqual(shown(waiting, synced, cause), [
    "Ready False CannotCompose a provider is missing",
    "Synced False CannotCompose a provider is missing",
  ]);
});

test("it speaks before what was said of an earlier spec, and a database that works stays ready", () => {
  const words = [
    { type: readyWordsCondition, status: "Unknown", reason: "FatalError", ...since },
    { type: syncedWordsCondition, status: "Unknown", reason: "FatalError", ...since },
  ];
  const conditions = [
    { type: "Ready", status: "True", reason: "Available", ...since },
    { type: "Synced", status: "True", reason: "ReconcileSuccess", ...since },
    ...words,
    cause,
  ];
  const [ready, synced] = shown(...conditions);
  assert.equal(synced, "Synced False CannotCompose a provider is missing");
  assert.match(ready ?? "", /^Ready Unknown FatalError/);
  assert.equal(
    shown(...conditions.filter((one) => !words.includes(one as never)))[0],
    "Ready True Available ",
  );
});

test("a cause that is gone, or True, says nothing and is never shown itself", () => {
  const ready = { type: "Ready", status: "True", reason: "Available", ...since };
  assert.deepEqual(shown(ready, { ...cause, status: "True" }), ["Ready True Available "]);
});
