import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { readyConditionAnnotation } from "./names.ts";
import { checkReadyCondition, readyConditionOf } from "./ready-condition.ts";

function saying(type?: string): APIServiceExportTemplate {
  const annotations = type === undefined ? {} : { [readyConditionAnnotation]: type };
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "a", name: "buckets", annotations },
    spec: { APIServiceSelector: { group: "example.org", resource: "buckets" } },
  };
}

test("the type of a condition can be named, and none has to be", () => {
  for (const type of ["ACK.ResourceSynced", "Available", "Up-to_date"]) {
    checkReadyCondition(saying(type));
    assert.equal(readyConditionOf(saying(type)), type);
  }
  checkReadyCondition(saying());
  checkReadyCondition(undefined);
  assert.equal(readyConditionOf(saying()), undefined);
});

test("another text is refused with its value, and an export of strangers with it names none", () => {
  for (const type of ["", "Ready", "two words", "klutch.anynines.com/Composed", ".", "x".repeat(101)]) {
    assert.throws(
      () => checkReadyCondition(saying(type)),
      /ready-condition of APIServiceExportTemplate a\/buckets is ".*; it must be the type of the condition/,
      type,
    );
    assert.equal(readyConditionOf(saying(type)), undefined);
  }
  for (const value of [7, null, ["Available"]])
    assert.equal(
      readyConditionOf({ metadata: { annotations: { [readyConditionAnnotation]: value } } }),
      undefined,
    );
});
