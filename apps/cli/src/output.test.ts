import assert from "node:assert/strict";
import { test } from "node:test";
import { printableLines } from "@klutch/api";
import { parseYamlDocuments } from "@klutch/kube";
import { bindingTable, formatObjects } from "./output.ts";

const binding = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: {
    name: "widgets.x.test",
    namespace: "klutch-bind",
    creationTimestamp: "2026-01-01T00:00:00Z",
    managedFields: [{ manager: "m" }],
  },
  spec: { kubeconfigSecretRef: { namespace: "klutch-bind", name: "s", key: "kubeconfig" as const } },
  status: {
    providerPrettyName: "Example",
    conditions: [
      { type: "Ready", status: "False", lastTransitionTime: "", reason: "Pending", message: "not yet" },
    ],
  },
};
const role = { apiVersion: "v1", kind: "Secret", metadata: { generateName: "kubeconfig-" } };

test("yaml and json come back as the same objects, without managed fields unless asked for", () => {
  const { managedFields: _managed, ...metadata } = binding.metadata;
  const clean = { ...binding, metadata };
  assert.deepEqual(parseYamlDocuments(formatObjects([binding, role], "yaml")), [clean, role]);
  assert.deepEqual(JSON.parse(formatObjects([binding], "json")), clean);
  const list: unknown = JSON.parse(formatObjects([binding, role], "json"));
  assert.deepEqual(list, { apiVersion: "v1", kind: "List", items: [clean, role] });
  assert.match(formatObjects([binding], "yaml", { showManagedFields: true }), /manager: m/);
});

test("names carry the group of their kind", () => {
  assert.equal(
    formatObjects([binding, role], "name"),
    "apiservicebinding.klutch.anynines.com/widgets.x.test\nsecret/kubeconfig-\n",
  );
});

test("the table has the columns of the CRD, aligned", () => {
  const now = Date.parse("2026-01-01T00:05:00Z");
  assert.equal(
    bindingTable([binding], now),
    "NAME             PROVIDER   READY   MESSAGE   AGE\nwidgets.x.test   Example    False   not yet   5m\n",
  );
});

test("hostile conditions and names neither leave their cell nor steer the terminal, and the data stays the same", () => {
  const hostile = "\u001b[2J\u202e\nwidgets.y.test   Good   True";
  const conditions = [{ type: "Ready", status: hostile, lastTransitionTime: "", message: hostile }];
  const lying = { ...binding, status: { providerPrettyName: hostile, conditions } };
  assert.match(bindingTable([lying], 0), /^NAME.*\nwidgets\.x\.test[\x20-\x7e]*\n$/);
  const { managedFields: _managed, ...metadata } = binding.metadata;
  for (const format of ["yaml", "json"] as const) {
    const text = printableLines(formatObjects([lying], format));
    assert.match(text, /^[\x20-\x7e\n]+$/);
    assert.deepEqual(parseYamlDocuments(text), [{ ...lying, metadata }]);
  }
});
