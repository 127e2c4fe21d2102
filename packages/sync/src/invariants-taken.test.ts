/** The invariant of statuses where the Secret that a claim names is another one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { claimedFromLabel } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import type { InvariantSnapshot } from "./invariants-snapshot.ts";
import { checkInvariants } from "./invariants.ts";
import { missingSecretWords } from "./taken-secret.ts";
import { consumerWidget, providerWidget, tenant } from "./testing/objects.ts";

const api = "widgets.example.org";
const text = { type: "string" };
const fields = { type: text, status: text, reason: text, message: text };
const conditions = { type: "array", items: { properties: fields } };
const openAPIV3Schema = { properties: { status: { properties: { conditions } } } };
const apiVersion = "klutch.anynines.com/v1alpha1";
const said = { managed: { credentials: { name: "s" } } };
const ready = { type: "Ready", status: "True", reason: "Available", message: "" };
const taken = {
  ...ready,
  status: "False",
  reason: "NameTaken",
  message: missingSecretWords({ name: "s", reason: "NameTaken" }),
};

/** A claim that says so, its object, and these Secrets in the app cluster; undefined: they were not read. */
function snapshot(secrets: readonly DynamicObject[] | undefined): InvariantSnapshot {
  return {
    now: 0,
    consumer: {
      objects: {
        [api]: [{ ...consumerWidget({ a: 1 }), status: { ...said, conditions: [taken] } }],
        ...(secrets === undefined ? {} : { secrets }),
      },
      bindings: [
        {
          apiVersion,
          kind: "APIServiceBinding",
          metadata: { name: api, namespace: "klutch-bind" },
          spec: { kubeconfigSecretRef: { name: "k", namespace: "klutch-bind", key: "kubeconfig" } },
        },
      ],
      crds: [],
      namespaces: [],
    },
    provider: {
      objects: { [api]: [{ ...providerWidget({ a: 1 }), status: { ...said, conditions: [ready] } }] },
      exports: [
        {
          apiVersion,
          kind: "APIServiceExport",
          metadata: { name: api, namespace: tenant.namespace },
          spec: {
            group: "example.org",
            names: { kind: "Widget", plural: "widgets" },
            scope: "Namespaced",
            informerScope: "Namespaced",
            versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
          },
        },
      ],
      apiServiceNamespaces: [
        {
          apiVersion,
          kind: "APIServiceNamespace",
          metadata: { namespace: tenant.namespace, name: "app" },
          status: { namespace: "cluster-a-app" },
        },
      ],
      tenant,
      otherTenants: [],
    },
  };
}

const secret = (metadata: ObjectMeta = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "app", name: "s", ...metadata },
});
const judged = (secrets: readonly DynamicObject[] | undefined): readonly string[] =>
  checkInvariants(snapshot(secrets)).flatMap(({ invariant, object }) =>
    invariant === "Status" ? [object] : [],
  );

test("a claim may say that its Secret's name is taken while another Secret has it", () => {
  assert.deepEqual(judged([secret()]), []);
  assert.deepEqual(judged(undefined), []);
});

test("a claim that says it without such a Secret does not show its provider's status", () => {
  const wrong = [`${api} app/w`];
  assert.deepEqual(judged([]), wrong);
  assert.deepEqual(judged([secret({ namespace: "other" })]), wrong);
  assert.deepEqual(judged([secret({ labels: { [claimedFromLabel]: tenant.namespaceUid } })]), wrong);
});
