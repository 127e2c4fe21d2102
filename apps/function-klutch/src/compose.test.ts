import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { valueAt } from "@klutch/kube-core";
import { brokerParameters, functionResource, services } from "@klutch/services";
import { compose } from "./compose.ts";

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

test("a binding names the Secret of its credentials and its keys, never values, once there are any", () => {
  const spec = { instanceRef: "db", serviceInstanceType: "postgresql" };
  const base = request("service-binding", spec, { status: { atProvider: { state: "created" } } });
  const connection = { uri: Buffer.from("postgres://u:geheim@h"), host: Buffer.from("geheim") };
  const observed = { managed: { resource: base.observed["managed"]?.resource ?? {}, connection } };
  const { compositeStatus } = compose({ ...base, observed });
  assert.deepEqual(compositeStatus, {
    managed: { state: "created", conditions: [], credentials: { name: "db-creds", keys: ["host", "uri"] } },
  });
  assert.equal(valueAt(compose(base).compositeStatus, "managed", "credentials"), undefined);
});

test("a backup becomes a Backup at the backup manager of its type, and what it reports comes back", () => {
  const spec = { instanceRef: "db", serviceInstanceType: "mariadb" };
  const atProvider = {
    instanceId: "i",
    id: 7,
    size: 4096,
    status: "done",
    triggered_at: "2026-11-22T10:00:00.000Z",
    finished_at: "2026-11-22T10:01:00.000Z",
    downloadable: false,
  };
  const conditions = [{ type: "Ready", status: "True", reason: "Available" }];
  const observed = { status: { atProvider, conditions } };
  const { resources, compositeStatus } = compose(request("backup", spec, observed));
  assert.deepEqual(resources, {
    managed: {
      ready: true,
      resource: {
        apiVersion: "dataservices.anynines.com/v1",
        kind: "Backup",
        metadata: { labels },
        spec: { forProvider: { instanceName: "db" }, providerConfigRef: { name: "mariadb-backup-manager" } },
      },
    },
  });
  const { instanceId: _private, ...shown } = atProvider;
  assert.deepEqual(compositeStatus, { managed: { ...shown, conditions } });
});

test("a restore becomes a Restore of the named backup, into the instance that the claim names", () => {
  const spec = { backupRef: "nightly", instanceRef: "db", serviceInstanceType: "postgresql" };
  const atProvider = { instanceId: "i", backupId: 7, restoreId: 3, state: "running", triggeredAt: "t" };
  const observed = { status: { atProvider, conditions: [] } };
  const { resources, compositeStatus } = compose(request("restore", spec, observed));
  assert.deepEqual(resources, {
    managed: {
      ready: false,
      resource: {
        apiVersion: "dataservices.anynines.com/v1",
        kind: "Restore",
        metadata: { labels },
        spec: {
          forProvider: { backupName: "nightly", instanceName: "db" },
          providerConfigRef: { name: "postgresql-backup-manager" },
        },
      },
    },
  });
  assert.deepEqual(compositeStatus, {
    managed: { restoreId: 3, state: "running", triggeredAt: "t", conditions: [] },
  });
  const { instanceRef: _left, ...without } = spec;
  const bare = compose(request("restore", without)).resources["managed"]?.resource;
  assert.deepEqual(valueAt(bare, "spec", "forProvider"), { backupName: "nightly" });
});

test("a managed resource that another Composition made keeps the name by which Crossplane knows it", () => {
  const kept = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    status: { atProvider: { state: "provisioned" }, conditions: [{ type: "Ready", status: "True" }] },
  };
  const base = request("postgresql-instance", instanceSpec);
  const theirs = { "a9s-postgresql": { resource: kept, connection: {} } };
  const other = { network: { resource: { apiVersion: "v1", kind: "ConfigMap" }, connection: {} } };
  const taken = compose({ ...base, observed: { ...other, ...theirs } });
  assert.deepEqual(Object.keys(taken.resources), ["a9s-postgresql"]);
  assert.equal(taken.resources["a9s-postgresql"]?.ready, true);
  assert.equal(valueAt(taken.compositeStatus, "managed", "state"), "provisioned");
  assert.deepEqual(Object.keys(compose({ ...base, observed: other }).resources), ["managed"]);
});

test("of several managed resources none is chosen, and nothing is changed", () => {
  const resource = { apiVersion: "dataservices.anynines.com/v1", kind: "ServiceInstance" };
  const observed = { one: { resource, connection: {} }, two: { resource, connection: {} } };
  const { resources, results } = compose({ ...request("postgresql-instance", instanceSpec), observed });
  assert.deepEqual(resources, {});
  assert.equal(results?.[0]?.severity, "fatal");
  const ours = compose({
    ...request("postgresql-instance", instanceSpec),
    observed: { ...observed, managed: { resource, connection: {} } },
  });
  assert.deepEqual(Object.keys(ours.resources), ["managed"]);
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
  const allowed = [
    "service-instance",
    ...services.map(functionResource),
    "service-binding",
    "backup",
    "restore",
  ].join(", ");
  assert.match(allowed, /^service-instance, \w+-instance, /);
  assert.equal(results?.[0]?.message, `input.resource is "mysql"; it must be one of: ${allowed}`);
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

for (const service of services) {
  test(`every parameter of ${service.title} has its own key at the broker, and nothing unknown or inherited is sent`, () => {
    const keys = service.parameters.map(({ brokerKey }) => brokerKey);
    assert.equal(new Set(keys).size, keys.length);
    const all = Object.fromEntries(service.parameters.map(({ name }) => [name, name]));
    assert.deepEqual(Object.keys(brokerParameters(service, { ...all, other: 1 })), keys);
    const inherited = Object.create(all) as Json;
    assert.deepEqual(brokerParameters(service, inherited), {});
  });

  test(`an instance of ${service.title} becomes a ServiceInstance of its broker with all its parameters`, () => {
    const [serviceName = "", planName = ""] = [service.offerings[0], service.plans[0]];
    const parameters = Object.fromEntries(service.parameters.map(({ name }) => [name, `value of ${name}`]));
    const spec = { service: serviceName, plan: planName, parameters };
    const { resources } = compose(request(functionResource(service), spec));
    const composed = resources["managed"]?.resource["spec"];
    assert.deepEqual(composed, {
      forProvider: {
        acceptsIncomplete: true,
        serviceName,
        planName,
        organizationGuid: "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75",
        spaceGuid: "1bf71cf3-9017-4846-bffc-b9b31872bfaf",
        parameters: Object.fromEntries(
          service.parameters.map(({ name, brokerKey }) => [brokerKey, `value of ${name}`]),
        ),
      },
      providerConfigRef: { name: `${service.type}-service-broker` },
    });
  });
}

test("an instance without parameters, or with something else in their place, sends none", () => {
  for (const parameters of [undefined, null, [1], {}]) {
    const { resources } = compose(request("postgresql-instance", { ...instanceSpec, parameters }));
    assert.doesNotMatch(JSON.stringify(resources), /"parameters"/);
  }
});
