import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { warningOf } from "./follow.ts";

const event = (fields: object): DynamicObject => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: {},
  involvedObject: { apiVersion: "example.org/v1", kind: "Widget", namespace: "mirror", name: "w" },
  reason: "QuotaExceeded",
  message: "no more disks",
  ...fields,
});

test("a warning is what an event says of an object, and nothing of it is longer than needed", () => {
  assert.deepEqual(warningOf(event({})), {
    apiVersion: "example.org/v1",
    kind: "Widget",
    namespace: "mirror",
    name: "w",
    reason: "QuotaExceeded",
    message: "no more disks",
    related: undefined,
  });
  const related = { kind: "Instance", name: "orders", uid: "x" };
  assert.deepEqual(warningOf(event({ related }))?.related, { kind: "Instance", name: "orders" });
  assert.equal(warningOf(event({ message: "x".repeat(1_000_000) }))?.message.length, 900);
});

test("an event whose fields are not what they should be is no warning", () => {
  const about = { apiVersion: "example.org/v1", kind: "Widget", namespace: "mirror", name: "w" };
  const wrong: readonly object[] = [
    { message: 7 },
    { message: undefined },
    { involvedObject: "w" },
    { involvedObject: { ...about, name: undefined } },
    { involvedObject: { ...about, name: {} } },
    { involvedObject: { ...about, name: "x".repeat(300) } },
    { involvedObject: { ...about, kind: [] } },
    { involvedObject: { ...about, apiVersion: null } },
    { involvedObject: { ...about, namespace: 1 } },
  ];
  for (const fields of wrong) assert.equal(warningOf(event(fields)), undefined, JSON.stringify(fields));
  assert.equal(warningOf(event({ reason: {} }))?.reason, "Warning");
  for (const related of [
    7,
    null,
    { kind: "Instance" },
    { kind: {}, name: "x" },
    { kind: "I", name: "x".repeat(300) },
  ])
    assert.equal(warningOf(event({ related }))?.related, undefined);
});
