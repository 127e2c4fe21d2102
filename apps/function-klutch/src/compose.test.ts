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
    required: { environment: [], brokers: [] },
  };
}

const instanceSpec = {
  service: "a9s-postgresql17",
  plan: "postgresql-single-nano",
  parameters: { maxConnections: 50, trackIoTiming: "on" },
};

const sqlConnection = {
  "klutch.anynines.com/connection": '[{"label":"SQL","from":"host","form":"host","port":"port"}]',
};

test("an instance becomes a ServiceInstance with the claim's labels and the broker's parameter names", () => {
  const { resources } = compose(request("postgresql-instance", instanceSpec));
  assert.deepEqual(resources, {
    managed: {
      ready: false,
      resource: {
        apiVersion: "dataservices.anynines.com/v1",
        kind: "ServiceInstance",
        metadata: { labels, annotations: sqlConnection },
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

test("a binding passes on what it says of rotations, and its claim reads how they went", () => {
  const rotates = { rotate: "2026-11", rotateGraceSeconds: 0 };
  const spec = { instanceRef: "db", serviceInstanceType: "postgresql", ...rotates };
  const rotation = { request: "2026-11", rotatedAt: "2026-11-22T18:00:00Z" };
  const { resources, compositeStatus } = compose(
    request("service-binding", spec, { status: { atProvider: { state: "Created", rotation } } }),
  );
  assert.deepEqual(valueAt(resources["managed"]?.resource, "spec", "forProvider"), {
    instanceName: "db",
    acceptsIncomplete: true,
    ...rotates,
  });
  assert.deepEqual(valueAt(compositeStatus, "managed", "rotation"), rotation);
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
  const observed = existing(spec, { atProvider, conditions }, "backup");
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
    ...existing(instanceSpec, {}),
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
  assert.deepEqual(
    results?.map(({ severity, reason }) => [severity, reason]),
    [
      ["warning", "ServiceProblem"],
      ["fatal", undefined],
    ],
  );
  const ours = compose({
    ...request("postgresql-instance", instanceSpec),
    observed: { ...observed, managed: { resource, connection: {} } },
  });
  assert.deepEqual(Object.keys(ours.resources), ["managed"]);
});

/** The managed resource as it exists when nothing has changed since it was composed. */
function existing(spec: Json, status: Json, input = "postgresql-instance"): Json {
  const composed = compose(request(input, spec)).resources["managed"]?.resource ?? {};
  return { ...composed, metadata: { generation: 1 }, status };
}

test("readiness, report and problem of the managed resource reach the composite and the claim", () => {
  const conditions = [
    { type: "Ready", status: "True", reason: "Available", observedGeneration: 1 },
    { type: "Synced", status: "False", reason: "BrokerUnreachable", message: "observe failed: no answer" },
  ];
  const observed = existing(instanceSpec, { atProvider: { state: "provisioned", planId: "p" }, conditions });
  const answer = compose(request("postgresql-instance", instanceSpec, observed));
  const message =
    "observe failed: no answer; it is retried automatically, and nothing in the claim has to change";
  assert.equal(answer.resources["managed"]?.ready, true);
  assert.deepEqual(answer.compositeStatus, { managed: { state: "provisioned", conditions } });
  assert.deepEqual(answer.conditions, [
    { type: "klutch.anynines.com/Ready", status: "True", reason: "Available" },
    { type: "klutch.anynines.com/Synced", status: "False", reason: "BrokerUnreachable", message },
  ]);
  assert.deepEqual(answer.results, [{ severity: "warning", reason: "ServiceProblem", message }]);
});

test("a refusal names the field of the claim, also where the broker calls it otherwise", () => {
  const said = (message: string): Json => ({
    conditions: [{ type: "Synced", status: "False", reason: "Refused", message, observedGeneration: 1 }],
  });
  for (const [message, field] of [
    [
      "InvalidParameters: parameters.max_connections and postgresql-single-nano",
      "spec.parameters.maxConnections",
    ],
    ['no entry for the plan name "postgresql-single-nano"; a9s-postgresql17 has: x', "spec.plan"],
    ['no entry for the service name "a9s-postgresql17"', "spec.service"],
    ["parameters.work_mem, which the claim does not have", "the claim's spec"],
  ] as const) {
    const observed = existing(instanceSpec, said(message));
    const [problem] = compose(request("postgresql-instance", instanceSpec, observed)).results ?? [];
    assert.equal(problem?.message, `${message}; change ${field}`);
  }
});

test("a changed claim is not ready by what was said of the one before", () => {
  const conditions = [{ type: "Ready", status: "True", reason: "Available", observedGeneration: 1 }];
  const observed = existing(instanceSpec, { conditions });
  const ready = (spec: Json): boolean | undefined =>
    compose(request("postgresql-instance", spec, observed)).resources["managed"]?.ready;
  assert.equal(ready(instanceSpec), true);
  assert.equal(ready({ ...instanceSpec, plan: "postgresql-single-small" }), false);
  assert.equal(ready({ ...instanceSpec, parameters: { maxConnections: 50 } }), false);
});

test("the mark of the spec that was composed comes back, and nothing that is no mark", () => {
  const observedOf = (mark: unknown): readonly unknown[] => {
    const { composite, ...rest } = request("postgresql-instance", instanceSpec);
    const metadata = { name: "db-x1", labels, annotations: { "klutch.anynines.com/spec-digest": mark } };
    const { conditions = [] } = compose({ ...rest, composite: { ...composite, metadata } });
    return conditions.filter(({ type }) => type === "klutch.anynines.com/SpecObserved");
  };
  assert.deepEqual(observedOf("0123456789abcdef"), [
    { type: "klutch.anynines.com/SpecObserved", status: "True", reason: "Sha256_0123456789abcdef" },
  ]);
  for (const mark of [undefined, "", "0123456789ABCDEF", "0123456789abcdef0", 7, "x\n0123456789abcdef"])
    assert.deepEqual(observedOf(mark), []);
});

test("the managed resource names its claim's kind, so that events can be about it", () => {
  const kindOf = (composite: Json): unknown => {
    const { resources } = compose({ ...request("postgresql-instance", instanceSpec), composite });
    return valueAt(
      resources["managed"]?.resource,
      "metadata",
      "annotations",
      "klutch.anynines.com/claim-kind",
    );
  };
  const claimRef = {
    apiVersion: "anynines.com/v1",
    kind: "PostgresqlInstance",
    name: "db",
    namespace: "team",
  };
  const own = { apiVersion: "anynines.com/v1", kind: "XPostgresqlInstance" };
  assert.equal(
    kindOf({ ...own, metadata: { labels }, spec: { claimRef } }),
    "anynines.com/v1/PostgresqlInstance",
  );
  assert.equal(
    kindOf({ apiVersion: "anynines.m.com/v1", kind: "Db", metadata: { name: "db", namespace: "team" } }),
    "anynines.m.com/v1/Db",
  );
  assert.equal(kindOf({ ...own, metadata: { labels } }), undefined);
});

test("the claim of a binding gets the name of the Secret and its keys, and no value", () => {
  const base = request("service-binding", { instanceRef: "db", serviceInstanceType: "postgresql" }, {});
  const connection = { password: Buffer.from("hidden"), host: Buffer.from("h") };
  const { compositeStatus } = compose({ ...base, observed: { managed: { resource: {}, connection } } });
  assert.deepEqual(valueAt(compositeStatus, "managed", "credentials"), {
    name: "db-creds",
    keys: ["host", "password"],
  });
  assert.doesNotMatch(JSON.stringify(compositeStatus), /hidden/);
  assert.equal(valueAt(compose(base).compositeStatus, "managed", "credentials"), undefined);
});

test("how long it usually takes is said by the Composition, or known for the kind", () => {
  const expected = (input: Json, resource = "postgresql-instance"): string | undefined => {
    const base = request(resource, instanceSpec);
    return compose({ ...base, input: { ...base.input, ...input } }).conditions?.[0]?.message;
  };
  assert.equal(expected({}), "it is being created; usually ready within 15 m");
  assert.equal(expected({}, "service-binding"), "it is being created; usually ready within 1 m");
  assert.equal(expected({ takes: { create: "2h" } }), "it is being created; usually ready within 2 h");
  assert.equal(expected({ takes: { create: "90s" } }), "it is being created; usually ready within 90 s");
  for (const takes of [{}, { create: "soon" }, { create: 5 }])
    assert.equal(expected({ takes }), "it is being created");
});

test("a condition of the function before this one is not left as it was", () => {
  const { composite, ...rest } = request("postgresql-instance", instanceSpec);
  const status = {
    conditions: [{ type: "ManagedResourceSynced", status: "False", message: "create failed" }],
  };
  const { conditions } = compose({ ...rest, composite: { ...composite, status } });
  assert.equal(conditions?.find(({ type }) => type === "ManagedResourceSynced")?.status, "Unknown");
});

test("an unknown input stops the pipeline and names the allowed ones", () => {
  const { results, resources } = compose(request("mysql", {}));
  assert.deepEqual(resources, {});
  assert.equal(results?.[0]?.severity, "fatal");
  const allowed = [
    "service-instance",
    "object",
    "managed-resource",
    ...services().map(functionResource),
    "service-binding",
    "backup",
    "restore",
  ].join(", ");
  assert.match(allowed, /^service-instance, object, managed-resource, \w+-instance, /);
  assert.equal(results?.[0]?.message, `input.resource is "mysql"; it must be one of: ${allowed}`);
});

test("a composite without an owner composes nothing", () => {
  const { results } = compose({ ...request("service-binding", {}), composite: { metadata: { name: "x" } } });
  assert.equal(results?.[0]?.severity, "fatal");
});

test("a namespaced composite stands for itself", () => {
  const composite = { metadata: { name: "own", namespace: "ns" }, spec: instanceSpec };
  const { resources } = compose({ ...request("postgresql-instance", {}), composite });
  const metadata = resources["managed"]?.resource["metadata"];
  assert.deepEqual(metadata, {
    namespace: "ns",
    labels: { "crossplane.io/claim-name": "own", "crossplane.io/claim-namespace": "ns" },
    annotations: sqlConnection,
  });
});

for (const service of services()) {
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
