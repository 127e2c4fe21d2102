import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { postgresqlParameters } from "@klutch/services";
import { compose } from "./compose.ts";
import { brokerParameters } from "./postgresql-instance.ts";

const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };

function request(resource: string, spec: Json, observed?: Json): ComposeRequest {
  return {
    composite: { metadata: { name: "db-x1", labels }, spec },
    observed: observed === undefined ? {} : { managed: { resource: observed, connection: {} } },
    input: { apiVersion: "fn.klutch.anynines.com/v1alpha1", kind: "Input", resource },
  };
}

const instanceSpec = {
  service: "a9s-postgresql17",
  plan: "postgresql-single-nano",
  parameters: { maxConnections: 50, trackIoTiming: "on" },
};

test("an instance becomes a ServiceInstance with the claim's labels and the broker's parameter names", () => {
  const { resources } = compose(request("postgresql-instance", instanceSpec));
  assert.deepEqual(resources, {
    managed: {
      ready: false,
      resource: {
        apiVersion: "dataservices.anynines.com/v1",
        kind: "ServiceInstance",
        metadata: { labels },
        spec: {
          forProvider: {
            acceptsIncomplete: true,
            serviceName: "a9s-postgresql17",
            planName: "postgresql-single-nano",
            organizationGuid: "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75",
            spaceGuid: "1bf71cf3-9017-4846-bffc-b9b31872bfaf",
            parameters: { max_connections: 50, track_io_timing: "on" },
          },
          providerConfigRef: { name: "postgresql-service-broker" },
        },
      },
    },
  });
});

test("a binding becomes a ServiceBinding whose Secret lands in the claim's namespace", () => {
  const spec = { instanceRef: "db", serviceInstanceType: "postgresql" };
  const { resources } = compose(request("service-binding", spec));
  assert.deepEqual(resources["managed"]?.resource["spec"], {
    forProvider: { instanceName: "db", acceptsIncomplete: true },
    providerConfigRef: { name: "postgresql-service-broker" },
    writeConnectionSecretToRef: { namespace: "team", name: "db-creds" },
  });
});

test("readiness, report and problem of the managed resource reach the composite", () => {
  const conditions = [
    { type: "Ready", status: "True", reason: "Available" },
    { type: "Synced", status: "False", reason: "ReconcileError", message: "update failed: quota" },
  ];
  const observed = { status: { atProvider: { state: "provisioned", planId: "p" }, conditions } };
  const answer = compose(request("postgresql-instance", instanceSpec, observed));
  assert.equal(answer.resources["managed"]?.ready, true);
  assert.deepEqual(answer.compositeStatus, { managed: { state: "provisioned", conditions } });
  assert.deepEqual(answer.conditions, [
    {
      type: "ManagedResourceSynced",
      status: "False",
      reason: "ReconcileError",
      message: "update failed: quota",
    },
  ]);
});

test("an unknown input stops the pipeline and names what is allowed", () => {
  const { results, resources } = compose(request("mysql", {}));
  assert.deepEqual(resources, {});
  assert.equal(results?.[0]?.severity, "fatal");
  assert.match(
    results?.[0]?.message ?? "",
    /"mysql"; it must be one of: postgresql-instance, service-binding/,
  );
});

test("a composite that belongs to nobody composes nothing", () => {
  const { results } = compose({ ...request("service-binding", {}), composite: { metadata: { name: "x" } } });
  assert.equal(results?.[0]?.severity, "fatal");
});

test("a namespaced composite stands for itself", () => {
  const composite = { metadata: { name: "own", namespace: "ns" }, spec: instanceSpec };
  const { resources } = compose({ ...request("postgresql-instance", {}), composite });
  const metadata = resources["managed"]?.resource["metadata"];
  assert.deepEqual(metadata, {
    labels: { "crossplane.io/claim-name": "own", "crossplane.io/claim-namespace": "ns" },
  });
});

test("every parameter has its own key at the broker, and nothing unknown or inherited is sent", () => {
  const keys = postgresqlParameters.map(({ brokerKey }) => brokerKey);
  assert.equal(new Set(keys).size, postgresqlParameters.length);
  const all = Object.fromEntries(postgresqlParameters.map(({ name }) => [name, name]));
  assert.deepEqual(Object.keys(brokerParameters({ ...all, other: 1 })), keys);
  assert.deepEqual(brokerParameters(undefined), {});
});
