import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { compose } from "./compose.ts";

const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };

function request(resource: string, observed: Readonly<Record<string, Json>>): ComposeRequest {
  const entries = Object.entries(observed).map(
    ([name, existing]) => [name, { resource: existing, connection: {} }] as const,
  );
  return {
    composite: { metadata: { name: "db-x1", labels }, spec: {} },
    observed: Object.fromEntries(entries),
    input: { resource },
    required: { environment: [], brokers: [] },
  };
}

const object = { apiVersion: "kubernetes.crossplane.io/v1alpha2", kind: "Object" };
const instance = { apiVersion: "dataservices.anynines.com/v1", kind: "ServiceInstance" };
const namespaced = { apiVersion: "dataservices.m.anynines.com/v1", kind: "ServiceInstance" };

test("a database of another Composition stops the pipeline, and the claim is warned before", () => {
  const { resources, results } = compose(request("postgresql-instance", { "a8s-postgresql": object }));
  assert.deepEqual(resources, {});
  assert.deepEqual(
    results?.map(({ severity }) => severity),
    ["warning", "fatal"],
  );
  for (const { message } of results ?? [])
    assert.match(
      message,
      /a8s-postgresql is a kubernetes\.crossplane\.io Object.* makes a dataservices\.anynines\.com ServiceInstance.*nothing is changed.*spec\.compositionRef\.name/,
    );
});

test("a resource of another kind under our own name stops the pipeline, whatever it is", () => {
  const other = { apiVersion: "v1", kind: "ConfigMap" };
  const { resources, results } = compose(request("backup", { managed: other }));
  assert.deepEqual(resources, {});
  assert.match(results?.[0]?.message ?? "", /managed is a ConfigMap/);
});

test("a managed resource of the other generation is not replaced", () => {
  for (const [resource, existing] of [
    ["postgresql-instance", namespaced],
    ["backup", { ...instance, kind: "Restore" }],
    ["service-binding", { ...object, apiVersion: "kubernetes.m.crossplane.io/v1alpha1" }],
  ] as const)
    assert.equal(compose(request(resource, { theirs: existing })).results?.[1]?.severity, "fatal", resource);
});

test("resources of other steps stay as they are beside ours, and another version of ours is ours", () => {
  const steps = { network: { apiVersion: "v1", kind: "ConfigMap" }, odd: {}, half: { kind: "Object" } };
  for (const observed of [
    steps,
    { ...steps, managed: instance, dashboard: object },
    { managed: { ...instance, apiVersion: "dataservices.anynines.com/v2" } },
  ]) {
    const { resources, results } = compose(request("postgresql-instance", observed));
    assert.deepEqual(results, []);
    assert.deepEqual(Object.keys(resources), ["managed"]);
  }
});
