import assert from "node:assert/strict";
import { test } from "node:test";
import { recordedCall } from "./made-once.ts";

const created = "2026-01-01T00:00:00Z";
const createdAtMs = Date.parse(created);
const number = "example.org/number";
const operation = "anynines.crossplane.io/broker-operation";
const name = "crossplane.io/external-name";
const pending = "crossplane.io/external-create-pending";
const none = { newestIdBefore: Number.MAX_SAFE_INTEGER, newestAtMsBefore: createdAtMs };

const calling = (after?: object): string =>
  JSON.stringify({ type: "create", phase: "calling", startedAt: 5_000, after });

const cases: readonly (readonly [string, Record<string, string>, number | undefined, unknown])[] = [
  ["nothing", {}, undefined, { kind: "nothing" }],
  ["its own name", { [name]: "box" }, undefined, { kind: "nothing" }],
  ["a name that is no number", { [name]: "17a" }, undefined, { kind: "nothing" }],
  ["a number", { [number]: "17" }, undefined, { kind: "made", id: 17 }],
  ["a number and another in the status", { [number]: "17" }, 4, { kind: "made", id: 17 }],
  ["a number and an intent", { [number]: "17", [operation]: calling() }, undefined, { kind: "made", id: 17 }],
  ["an external name that is a number", { [name]: "17" }, undefined, { kind: "made", id: 17 }],
  ["no number in its place", { [number]: "x" }, undefined, { kind: "damaged", text: "x" }],
  ["zero", { [number]: "0" }, undefined, { kind: "damaged", text: "0" }],
  [
    "a number that cannot be exact",
    { [number]: "9007199254740993" },
    undefined,
    { kind: "damaged", text: "9007199254740993" },
  ],
  [
    "an intent",
    { [operation]: calling({ id: 3, at: 9 }) },
    undefined,
    { kind: "calling", intent: { newestIdBefore: 3, newestAtMsBefore: 9, sentAtMs: 5_000 } },
  ],
  [
    "an intent of a manager without times",
    { [operation]: calling({ id: 3 }) },
    undefined,
    { kind: "calling", intent: { newestIdBefore: 3, newestAtMsBefore: undefined, sentAtMs: 5_000 } },
  ],
  [
    "an intent without what was there",
    { [operation]: calling() },
    undefined,
    { kind: "calling", intent: { ...none, sentAtMs: 5_000 } },
  ],
  [
    "an intent that cannot be read",
    { [operation]: "{" },
    undefined,
    { kind: "calling", intent: { ...none, sentAtMs: createdAtMs } },
  ],
  [
    "a mark of the runtime",
    { [pending]: "2026-01-01T00:10:00Z" },
    undefined,
    { kind: "calling", intent: { ...none, sentAtMs: createdAtMs + 600_000 } },
  ],
  [
    "marks of the runtime, the latest of which counts",
    { [pending]: "2026-01-01T00:10:00Z", "crossplane.io/external-create-failed": "2026-01-01T00:20:00Z" },
    undefined,
    { kind: "calling", intent: { ...none, sentAtMs: createdAtMs + 1_200_000 } },
  ],
  [
    "a mark that is no time",
    { [pending]: "yesterday" },
    undefined,
    { kind: "calling", intent: { ...none, sentAtMs: createdAtMs } },
  ],
  ["a number in the status only", {}, 4, { kind: "calling", intent: { ...none, sentAtMs: createdAtMs } }],
];
for (const [what, annotations, statusId, expected] of cases) {
  test(`the record of ${what} is read`, () => {
    const managed = {
      apiVersion: "v1",
      kind: "Box",
      metadata: { name: "box", creationTimestamp: created, annotations },
      spec: {},
    };
    assert.deepEqual(recordedCall({ managed, idAnnotation: number, statusId }), expected);
  });
}
