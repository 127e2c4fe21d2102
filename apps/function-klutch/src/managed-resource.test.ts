import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { recordAt, valueAt } from "@klutch/kube-core";
import { compose } from "./compose.ts";

const instanceSpec = { service: "a9s-mariadb106", plan: "mariadb-single-nano" };
const ofClaim = (spec: Json): Json => ({
  metadata: {
    name: "db-x1",
    labels: { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" },
  },
  spec,
});

function request(resource: string, composite: Json): ComposeRequest {
  return { composite, observed: {}, input: { resource }, required: { environment: [], brokers: [] } };
}

const ofComposite = (spec: Json, metadata: Json = {}): Json => ({
  apiVersion: "m.anynines.com/v1",
  kind: "ServiceBinding",
  metadata: { name: "own", namespace: "ns", ...metadata },
  spec,
});

test("a namespaced composite composes the namespaced kind, at the ClusterProviderConfig, with its Secret in its own namespace", () => {
  const orders = { instanceRef: "orders", serviceInstanceType: "mariadb" };
  for (const [input, kind, spec, config] of [
    ["mariadb-instance", "ServiceInstance", instanceSpec, "mariadb-service-broker"],
    ["service-binding", "ServiceBinding", orders, "mariadb-service-broker"],
    ["backup", "Backup", orders, "mariadb-backup-manager"],
    ["restore", "Restore", { ...orders, backupRef: "monday" }, "mariadb-backup-manager"],
  ] as const) {
    const { resources } = compose(request(input, ofComposite(spec)));
    const made = resources["managed"]?.resource ?? {};
    assert.equal(made["apiVersion"], "dataservices.m.anynines.com/v1");
    assert.equal(made["kind"], kind);
    assert.equal(valueAt(made, "metadata", "namespace"), "ns");
    const { providerConfigRef, writeConnectionSecretToRef, ...rest } = recordAt(made, "spec");
    assert.deepEqual(providerConfigRef, { kind: "ClusterProviderConfig", name: config });
    const secret = input === "service-binding" ? { name: "own-creds" } : undefined;
    assert.deepEqual(writeConnectionSecretToRef, secret);
    // The request to the broker is the same for both generations.
    const { resources: legacy } = compose(request(input, ofClaim(spec)));
    const { forProvider } = recordAt(legacy["managed"]?.resource, "spec");
    assert.deepEqual(rest, { forProvider });
  }
});

test("a namespaced composite has no other owner, whatever its labels and its spec say", () => {
  const labels = { "crossplane.io/claim-name": "victim", "crossplane.io/claim-namespace": "theirs" };
  const claimRef = { apiVersion: "anynines.com/v1", kind: "Victim", name: "victim", namespace: "theirs" };
  const composite = ofComposite(
    { instanceRef: "orders", serviceInstanceType: "mariadb", claimRef },
    { labels },
  );
  const { resources } = compose(request("service-binding", composite));
  assert.ok(!JSON.stringify(resources).includes("victim"), JSON.stringify(resources));
  const annotations = valueAt(resources["managed"]?.resource, "metadata", "annotations");
  assert.deepEqual(annotations, { "klutch.anynines.com/claim-kind": "m.anynines.com/v1/ServiceBinding" });
});
