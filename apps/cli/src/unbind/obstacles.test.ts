import assert from "node:assert/strict";
import { test } from "node:test";
import { type APIServiceBinding, consumerNamespace, unbindFinalizer } from "@klutch/api";
import type { Home } from "../app-cluster/home.ts";
import { type Found, obstaclesOf } from "./obstacles.ts";

const lease = { holder: "konnector-0", ageSeconds: 1, durationSeconds: 15, isLive: true };
const healthy: Home = {
  namespace: "active",
  terminatingSince: undefined,
  deployment: undefined,
  hasAccount: true,
  lease,
};
const dead: Home = { ...healthy, lease: { ...lease, isLive: false } };
const keep = { delete: false, keepKonnector: false };

function binding(
  metadata: Partial<APIServiceBinding["metadata"]> = {},
  conditions: readonly object[] = [],
): APIServiceBinding {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: {
      name: "widgets.x",
      namespace: consumerNamespace,
      finalizers: [unbindFinalizer],
      ...metadata,
    },
    spec: { kubeconfigSecretRef: { namespace: consumerNamespace, name: "k", key: "kubeconfig" } },
    status: { conditions: conditions.map((one) => ({ lastTransitionTime, type: "", status: "", ...one })) },
  };
}

const found = (more: Partial<Found> = {}): Found => ({
  bindings: [binding()],
  home: healthy,
  shapes: [],
  claims: [],
  ...more,
});

const held = { type: "DeletionHeld", status: "True", message: "5 of 6" };
const away = { type: "Connected", status: "False", reason: "Unreachable", message: "no answer" };

test("a konnector that works and a binding at rest are no obstacle; neither is a cluster without bindings and konnector", () => {
  assert.deepEqual(obstaclesOf(found(), keep), []);
  assert.deepEqual(obstaclesOf(found({ bindings: [], home: { ...dead, namespace: "missing" } }), keep), []);
});

test("bindings outside of klutch-bind mean a control plane; those without a namespace are of version 1.5", () => {
  const [text = ""] = obstaclesOf(found({ bindings: [binding({ namespace: "tenant-a" })] }), keep);
  assert.match(text, /^tenant-a\/widgets\.x: not in namespace klutch-bind\. This looks like a control plane/);
  assert.deepEqual(obstaclesOf(found({ bindings: [binding({ namespace: undefined })] }), keep), []);
});

test("without a konnector, a binding with its finalizer is an obstacle, and stale conditions are none", () => {
  const bindings = [binding({}, [held, away])];
  const texts = obstaclesOf(found({ bindings, home: dead }), keep);
  assert.equal(texts.length, 1);
  assert.match(texts[0] ?? "", /No konnector works that could unbind widgets\.x\. .*klutch hand-back/);
  const gone = obstaclesOf(found({ bindings, home: { ...dead, namespace: "terminating" } }), keep);
  assert.match(gone[0] ?? "", /klutch-bind is being deleted.* cannot be installed there again/);
});

test("after a hand-back nothing holds a binding, so neither a dead konnector nor old conditions nor used claims stand against it", () => {
  const claim = {
    api: "widgets.x",
    kind: "Widget",
    namespace: "app",
    name: "a",
    isDeleting: true,
    fields: {},
  };
  const claims = [claim, { ...claim, name: "b", isDeleting: false, fields: { widgetRef: "a" } }];
  const bindings = [binding({ finalizers: undefined }, [held, away])];
  assert.deepEqual(obstaclesOf(found({ bindings, home: dead, claims }), keep), []);
  const erase = obstaclesOf(found({ bindings, home: dead, claims }), { ...keep, delete: true });
  assert.match(erase.join(), /serves widgets\.x, so --delete would delete nothing in the control plane/);
  assert.match(obstaclesOf(found({ claims }), keep).join(), /app\/a is being deleted and cannot go/);
  assert.deepEqual(obstaclesOf(found({ claims }), { ...keep, delete: true }), []);
});

test("held deletions and a lost connection are obstacles until the binding itself is being deleted", () => {
  assert.equal(obstaclesOf(found({ bindings: [binding({}, [held, away])] }), keep).length, 2);
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  assert.deepEqual(
    obstaclesOf(found({ bindings: [binding({ deletionTimestamp }, [held, away])] }), keep),
    [],
  );
});
