import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeResponse, Json } from "@klutch/crossplane";
import { recordAt, textAt, valueAt } from "@klutch/kube-core";
import { compose } from "./compose.ts";
import {
  bindingSpec,
  inputs,
  instanceSpec,
  labels,
  living,
  manifestOf,
  objectOf,
  request,
} from "./testing/objects.ts";

const conditionOf = ({ conditions = [] }: ComposeResponse, type = "klutch.anynines.com/Ready"): Json => ({
  ...conditions.find((condition) => condition.type === type),
});

test("an instance becomes an Object that is ready when the database is", () => {
  const object = objectOf(compose(request("instance", instanceSpec)));
  assert.deepEqual(object["metadata"], { labels });
  assert.equal(
    `${String(object["apiVersion"])} ${String(object["kind"])}`,
    "kubernetes.crossplane.io/v1alpha2 Object",
  );
  const { readiness, forProvider, ...rest } = recordAt(object, "spec");
  assert.deepEqual(rest, { providerConfigRef: { name: "kubernetes-provider" }, watch: true });
  assert.equal(textAt(readiness, "policy"), "DeriveFromCelQuery");
  assert.match(textAt(readiness, "celQuery") ?? "", /readyReplicas == object\.spec\.replicas/);
  assert.deepEqual(forProvider, {
    manifest: {
      apiVersion: "postgresql.anynines.com/v1beta3",
      kind: "Postgresql",
      metadata: { name: "db", namespace: "team" },
      spec: {
        version: 13,
        volumeSize: "10Gi",
        resources: { requests: { cpu: "2", memory: "2Gi" }, limits: { cpu: "2", memory: "2Gi" } },
        replicas: 3,
        expose: "LoadBalancer",
      },
    },
  });
});

test("objects of a namespaced composite are never those of a legacy claim of the same name, and find each other", () => {
  const made = (kind: Parameters<typeof request>[0], name: string, spec: Json): Json => {
    const metadata = { name, namespace: "team", labels };
    const composite = { apiVersion: "m.anynines.com/v1", kind: "Something", metadata, spec };
    return objectOf(compose({ ...request(kind, spec), composite }));
  };
  const ofOrders = { ...bindingSpec, instanceRef: "orders" };
  const instance = made("instance", "orders", instanceSpec);
  const binding = made("binding", "app", ofOrders);
  const backup = made("backup", "monday", ofOrders);
  const restore = made("restore", "undo", { ...ofOrders, backupRef: "monday" });
  for (const object of [instance, binding, backup, restore]) {
    assert.equal(object["apiVersion"], "kubernetes.m.crossplane.io/v1alpha1");
    assert.equal(valueAt(object, "metadata", "namespace"), "team");
    assert.deepEqual(valueAt(object, "spec", "providerConfigRef"), {
      kind: "ClusterProviderConfig",
      name: "kubernetes-provider",
    });
  }
  const manifest = (object: Json, ...path: readonly string[]): unknown =>
    valueAt(object, "spec", "forProvider", "manifest", ...path);
  const name = manifest(instance, "metadata", "name");
  assert.match(String(name), /^orders-[0-9a-f]{8}$/);
  assert.equal(manifest(instance, "metadata", "namespace"), "team");
  assert.equal(manifest(binding, "spec", "instance", "name"), name);
  assert.equal(manifest(backup, "spec", "serviceInstance", "name"), name);
  assert.equal(manifest(restore, "spec", "serviceInstance", "name"), name);
  assert.equal(manifest(restore, "spec", "backupName"), manifest(backup, "metadata", "name"));
  const long = manifest(made("instance", "x".repeat(63), instanceSpec), "metadata", "name");
  assert.equal(String(long).length, 63);
});

test("each size of an instance is its disk, processors and memory, and each shape its number of servers", () => {
  for (const [size, disk, cpu, memory] of [
    ["nano", "3Gi", "2", "1Gi"],
    ["small", "10Gi", "2", "2Gi"],
    ["medium", "50Gi", "2", "4Gi"],
    ["big", "100Gi", "4", "16Gi"],
  ])
    for (const [shape, replicas] of [
      ["single", 1],
      ["replica", 3],
    ]) {
      const spec = { service: "a9s-postgresql14", plan: `postgresql-${shape}-${size}`, expose: "Internal" };
      const each = { cpu, memory };
      assert.deepEqual(valueAt(manifestOf(compose(request("instance", spec))), "spec"), {
        version: 14,
        volumeSize: disk,
        resources: { requests: each, limits: each },
        replicas,
        expose: "Internal",
      });
    }
});

test("parameters have the operator's names, and only those that it knows arrive", () => {
  const parameters = {
    maxConnections: 50,
    tempFileLimit: -1,
    trackIoTiming: "on",
    archiveTimeout: 60,
    statementTimeout: 0,
    walWriterDelay: 200,
    maxLocksPerTransaction: 10,
    maxReplicationSlots: 1,
    maxWalSenders: 2,
    synchronousCommit: "local",
    sslCiphers: "HIGH",
    sslMinProtocolVersion: "TLSv1.2",
    clientMinMessages: "DEBUG5",
    logMinMessages: "PANIC",
    logMinErrorStatement: "INFO",
    logStatement: "ddl",
    logErrorVerbosity: "TERSE",
    workMem: "4MB",
    unheardOf: true,
  };
  const manifest = manifestOf(compose(request("instance", { ...instanceSpec, parameters })));
  assert.deepEqual(valueAt(manifest, "spec", "parameters"), {
    maxConnections: 50,
    tempFileLimitKiloBytes: -1,
    trackIOTiming: "on",
    archiveTimeoutSeconds: 60,
    statementTimeoutMillis: 0,
    walWriterDelayMillis: 200,
    maxLocksPerTransaction: 10,
    maxReplicationSlots: 1,
    maxWALSenders: 2,
    synchronousCommit: "local",
    sslCiphers: "HIGH",
    sslMinProtocolVersion: "TLSv1.2",
    clientMinMessages: "debug5",
    logMinMessages: "panic",
    logMinErrorStatement: "info",
    logStatement: "ddl",
    logErrorVerbosity: "TERSE",
  });
});

test("binding, backup and restore become the operator's objects of the same names", () => {
  const metadata = { name: "db", namespace: "team" };
  const serviceInstance = { apiGroup: "postgresql.anynines.com", kind: "PostgreSQL", name: "orders" };
  assert.deepEqual(manifestOf(compose(request("binding", bindingSpec))), {
    apiVersion: "servicebindings.anynines.com/v1beta3",
    kind: "ServiceBinding",
    metadata,
    spec: {
      instance: {
        apiVersion: "postgresql.anynines.com/v1beta3",
        kind: "Postgresql",
        name: "orders",
        namespace: "team",
      },
    },
  });
  const [apiVersion, backupRef] = ["backups.anynines.com/v1beta3", "nightly"];
  assert.deepEqual(manifestOf(compose(request("backup", bindingSpec))), {
    apiVersion,
    kind: "Backup",
    metadata,
    spec: { serviceInstance },
  });
  assert.deepEqual(manifestOf(compose(request("restore", { ...bindingSpec, backupRef }))), {
    apiVersion,
    kind: "Restore",
    metadata,
    spec: { serviceInstance, backupName: backupRef },
  });
});

test("what the operator says comes back, and the Secret of a binding is named", () => {
  const status = { clusterStatus: "Running", readyReplicas: 3, endpoint: "10.0.0.1" };
  const ready = [{ type: "Ready", status: "True", reason: "Available" }];
  const instance = compose(
    request("instance", instanceSpec, living("instance", instanceSpec, { status }, ready)),
  );
  assert.deepEqual(instance.compositeStatus, { managed: { clusterStatus: "Running", readyReplicas: 3 } });
  assert.equal(instance.resources["managed"]?.ready, true);
  const secret = { name: "db-service-binding", namespace: "team" };
  const made = { status: { implemented: true, secret } };
  const binding = compose(request("binding", bindingSpec, living("binding", bindingSpec, made)));
  assert.deepEqual(binding.compositeStatus, {
    managed: { implemented: true, secret, credentials: { name: "db-service-binding" } },
  });
  const podToPoll = { ip: "10.0.0.1", namespacedName: "team/db-0", uid: "u" };
  const conditions = [{ type: "Ready", status: "True", reason: "Complete" }];
  const restore = compose(
    request(
      "restore",
      bindingSpec,
      living("restore", bindingSpec, { status: { restoreID: "r", podToPoll, conditions } }),
    ),
  );
  assert.deepEqual(restore.compositeStatus, { managed: { restoreID: "r", podToPoll, conditions } });
});

test("an existing Object is not yet an existing database", () => {
  for (const conditions of [
    [],
    [{ type: "Synced", status: "True", reason: "ReconcileSuccess" }],
    [{ type: "Ready", status: "False", reason: "Unavailable" }],
  ]) {
    const status = { clusterStatus: "Progressing", readyReplicas: 0 };
    const response = compose(
      request("instance", instanceSpec, living("instance", instanceSpec, { status }, conditions)),
    );
    assert.equal(response.resources["managed"]?.ready, false);
    const { status: isReady, reason } = conditionOf(response);
    assert.deepEqual([isReady, reason], ["False", "Creating"]);
  }
});

test("while it is made the claim says how far it is and how long it takes", () => {
  const status = { clusterStatus: "Progressing", readyReplicas: 1 };
  const response = compose(request("instance", instanceSpec, living("instance", instanceSpec, { status })));
  assert.equal(
    conditionOf(response)["message"],
    "clusterStatus is Progressing, readyReplicas is 1; usually ready within 5 m",
  );
});

test("an operator's own words go before its fields, and a failure is a problem", () => {
  const saying = (reason: string): ComposeResponse => {
    const conditions = [{ type: "Ready", status: "False", reason, message: "no instance orders here" }];
    return compose(request("backup", bindingSpec, living("backup", bindingSpec, { status: { conditions } })));
  };
  assert.match(String(conditionOf(saying("Waiting"))["message"]), /^no instance orders here/);
  assert.equal(conditionOf(saying("Waiting"))["reason"], "Creating");
  assert.deepEqual(saying("Waiting").results, []);
  assert.equal(conditionOf(saying("DumpFailed"))["reason"], "Failed");
  assert.equal(
    saying("DumpFailed").results?.[0]?.message,
    "no instance orders here; delete this claim and create another",
  );
});

test("what provider-kubernetes cannot do is a problem that the claim tells", () => {
  const conditions = [
    {
      type: "Synced",
      status: "False",
      reason: "ReconcileError",
      message: "create failed: cannot apply object: quota",
    },
  ];
  const response = compose(
    request("instance", instanceSpec, living("instance", instanceSpec, {}, conditions)),
  );
  assert.deepEqual(conditionOf(response, "klutch.anynines.com/Synced"), {
    type: "klutch.anynines.com/Synced",
    status: "False",
    reason: "Failed",
    message: "create failed: cannot apply object: quota; it is retried automatically",
  });
});

test("one that was ready once is not created a second time", () => {
  const ready = [{ type: "Ready", status: "True", reason: "Available" }];
  const first = compose(request("instance", instanceSpec, living("instance", instanceSpec, {}, ready)));
  const mark = { "klutch.anynines.com/was-ready": "true" };
  assert.deepEqual(valueAt(objectOf(first), "metadata", "annotations"), mark);
  const now = (made: Json): ComposeResponse => {
    const object = { ...living("instance", instanceSpec, made), metadata: { labels, annotations: mark } };
    return compose(request("instance", instanceSpec, object));
  };
  const metadata = { name: "db", namespace: "team", generation: 2 };
  const unseen = now({ metadata, status: { observedGeneration: 1, readyReplicas: 3 } });
  assert.equal(conditionOf(unseen)["reason"], "Changing");
  const down = now({ metadata, status: { observedGeneration: 2, readyReplicas: 2 } });
  assert.deepEqual(
    [conditionOf(down)["reason"], conditionOf(down)["message"]],
    ["Unavailable", "readyReplicas is 2"],
  );
  assert.deepEqual(valueAt(objectOf(down), "metadata", "annotations"), mark);
});

test("an Object with an earlier spec says nothing of the wanted one", () => {
  const ready = [{ type: "Ready", status: "True", reason: "Available" }];
  const before = living("instance", { ...instanceSpec, parameters: { maxConnections: 5 } }, {}, ready);
  for (const spec of [instanceSpec, { ...instanceSpec, plan: "postgresql-replica-big" }]) {
    const response = compose(request("instance", spec, before));
    assert.equal(response.resources["managed"]?.ready, false);
    assert.equal(conditionOf(response)["reason"], "Changing");
  }
});

test("a type that has no objects here, and a plan without a size, stop the pipeline with words", () => {
  for (const [kind, spec, message] of [
    [
      "binding",
      { ...bindingSpec, serviceInstanceType: "mariadb" },
      /"mariadb"; this Composition serves only: postgresql/,
    ],
    [
      "instance",
      { ...instanceSpec, plan: "postgresql-single-huge" },
      /spec\.plan is "postgresql-single-huge", for which spec\.volumeSize/,
    ],
    [
      "instance",
      { ...instanceSpec, service: "postgresql" },
      /spec\.service is "postgresql", for which spec\.version/,
    ],
  ] as const) {
    const { resources, results } = compose(request(kind, spec));
    assert.deepEqual(resources, {});
    assert.deepEqual(
      results?.map(({ severity }) => severity),
      ["warning", "fatal"],
    );
    assert.match(results?.[0]?.message ?? "", message);
  }
});

test("an input that is none stops the pipeline and says which field is wrong", () => {
  const { objects } = inputs.instance;
  const recipe = { manifest: {}, ready: "object.x" };
  for (const [input, message] of [
    [{}, /input\.objects: is missing/],
    [{ objects: [] }, /input\.objects: is/],
    [
      { objects: { postgresql: { recipe: { ...recipe, ready: 5 } } } },
      /input\.objects\.postgresql\.recipe\.ready: is 5/,
    ],
    [
      {
        objects: {
          postgresql: { recipe: { ...recipe, patches: [{ from: "spec.plan", to: "metadata.name" }] } },
        },
      },
      /patches\[0\]\.to: is "metadata\.name"/,
    ],
    [{ objects: { postgresql: { recipe, secret: {} } } }, /input\.objects\.postgresql\.secret: is/],
    [{ objects, type: "Not A Type" }, /input\.type: is "Not A Type"/],
  ] as const) {
    const asked = { ...request("instance", instanceSpec), input: { resource: "object", ...input } };
    const { resources, results } = compose(asked);
    assert.deepEqual(resources, {});
    assert.equal(results?.[0]?.severity, "fatal");
    assert.match(results?.[0]?.message ?? "", message);
  }
});
