import assert from "node:assert/strict";
import { test } from "node:test";
import { aggregateToBackendLabel, offerRules } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { exportTemplatesOf, generations } from "@klutch/services";
import { offerObstacles } from "./offers.ts";

const template = (resource: string, ...permissionClaims: readonly object[]): DynamicObject => ({
  apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportTemplate",
  metadata: { namespace: "default", name: resource },
  spec: { APIServiceSelector: { group: "example.org", resource }, permissionClaims },
});
const role = (rules: unknown, label = "true"): DynamicObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "offers", labels: { [aggregateToBackendLabel]: label } },
  rules,
});
const widgets = { spec: { APIServiceSelector: { group: "example.org", resource: "widgets" } } };

test("templates of the shipped services stand against no upgrade", () => {
  const shipped = generations.flatMap(exportTemplatesOf).map((one) => ({ ...one, spec: { ...one.spec } }));
  assert.deepEqual(offerObstacles(shipped, []), []);
});

test("a kind, and one that is claimed with it, needs a ClusterRole of an operator", () => {
  const claims = [
    { resource: "secrets", version: "v1" },
    { resource: "configmaps", version: "v1" },
  ];
  const [found, ...others] = offerObstacles([template("widgets", ...claims)], []);
  assert.equal(found?.object, "APIServiceExportTemplate default/widgets");
  assert.equal(found.value, "widgets.example.org, configmaps");
  assert.match(found.expected, /verb offer .* docs\/offer-an-api\.md/);
  assert.deepEqual(others, []);
  assert.deepEqual(offerObstacles([template("widgets")], [role(offerRules([widgets]))]), []);
});

test("a rule without the label or the verb offers nothing, and neither does an odd one", () => {
  const rules = offerRules([widgets]);
  const odd = [
    role(rules, "false"),
    role(rules.map((rule) => ({ ...rule, verbs: ["get"] }))),
    role("text"),
    role([{ verbs: "offer", apiGroups: "example.org", resources: ["widgets"] }, null]),
  ];
  assert.equal(offerObstacles([template("widgets")], odd).length, 1);
});
