import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExportSpec,
  crdFromExport,
  type ForeignExport,
  unbindPolicyAnnotation,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { asDynamic } from "../../decode.ts";
import { planBinding } from "./plan.ts";

const spec: APIServiceExportSpec = {
  group: "example.org",
  names: { plural: "widgets", kind: "Widget" },
  scope: "Namespaced",
  informerScope: "Namespaced",
  versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
};

const exported: ForeignExport = {
  namespace: "cluster-a",
  name: "widgets.example.org",
  resourceVersion: "1",
  spec,
  status: { conditions: [] },
};

const binding: DynamicObject = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: { name: "widgets.example.org", namespace: "klutch-bind", uid: "u1" },
};

const ending: DynamicObject = {
  ...binding,
  metadata: { ...binding.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
};

/** Served, and owned by the binding. */
const crd: DynamicObject = {
  ...asDynamic(
    crdFromExport(spec, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      name: "widgets.example.org",
      uid: "u1",
      controller: true,
    }),
  ),
  status: { conditions: [{ type: "Established", status: "True" }] },
};

const observed = { binding, exported, crd, isComplete: true };

test("an API without a binding to the provider is let go, whatever the caches show", () => {
  const plan = planBinding({ ...observed, binding: undefined, isComplete: false });
  assert.deepEqual(plan, { do: "letGo" });
});

test("nothing is decided before the caches are filled: what they do not show may exist", () => {
  assert.deepEqual(planBinding({ ...observed, exported: undefined, isComplete: false }), { do: "wait" });
});

test("a binding that stays is bound, also while its export is missing or in disorder", () => {
  for (const seen of [exported, undefined, { ...exported, spec: undefined, problem: "no versions" }]) {
    assert.deepEqual(planBinding({ ...observed, exported: seen }), { do: "bind", binding });
  }
});

test("a binding that goes releases its objects, by the policy that it asks for", () => {
  assert.deepEqual(planBinding({ ...observed, binding: ending }), {
    do: "release",
    binding: ending,
    crd,
    spec,
    policy: "Orphan",
  });
  const annotations = { [unbindPolicyAnnotation]: "Delete" };
  const deleting = { ...ending, metadata: { ...ending.metadata, annotations } };
  const plan = planBinding({ ...observed, binding: deleting });
  assert.equal(plan.do === "release" && plan.policy, "Delete");
});

test("a binding that goes is finished when its CRD is gone or another's: nothing of it can be left", () => {
  const foreign = { ...crd, metadata: { ...crd.metadata, ownerReferences: [] } };
  for (const seen of [undefined, foreign]) {
    assert.deepEqual(planBinding({ ...observed, binding: ending, crd: seen }), {
      do: "finish",
      binding: ending,
    });
  }
});

test("without an export that stands for what was bound, objects are not released, and the reason is reported", () => {
  const reasons = [
    undefined,
    { ...exported, spec: undefined, problem: "it has no versions" },
    { ...exported, spec: { ...spec, scope: "Cluster" as const } },
  ].map((seen) => {
    const plan = planBinding({ ...observed, binding: ending, exported: seen });
    return plan.do === "cannotRelease" ? plan.why : plan.do;
  });
  assert.match(reasons[0] ?? "", /no longer offers this API/);
  assert.match(reasons[1] ?? "", /cannot be used \(it has no versions\)/);
  assert.match(reasons[2] ?? "", /no longer the API that was bound \(spec.scope/);
});
