import assert from "node:assert/strict";
import { test } from "node:test";
import { type PermissionClaim, resourceOwnerAnnotation } from "@klutch/api";
import { type DynamicObject, listAt, type ObjectMeta } from "@klutch/kube-core";
import { exportTemplatesOf, legacy } from "@klutch/services";
import { claimFaults, compilePermissionClaim, planClaimed } from "@klutch/sync";
import fc from "fast-check";

const bindings = exportTemplatesOf(legacy).find(({ metadata }) => metadata.name === "servicebindings");
const [offered, ...others] = listAt(bindings?.spec, "permissionClaims");
const selectors = listAt(offered, "selector", "fieldSelectors").map(String);
const shipped: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  required: true,
  selector: { owner: "Provider", fieldSelectors: selectors },
};
const claim = compilePermissionClaim(shipped);

/** Returns true if a Secret of the provider is copied to an app cluster that has bound the shipped ServiceBindings. */
function crosses(type: string | undefined, metadata: ObjectMeta = {}): boolean {
  const [providerRef, consumerRef] = [
    { namespace: "cluster-a-app", name: "s" },
    { namespace: "app", name: "s" },
  ];
  const provider: DynamicObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...providerRef, uid: "u", resourceVersion: "1", ...metadata },
    ...(type === undefined ? {} : { type }),
    data: { password: "cA==" },
  };
  const tenant = { namespace: "cluster-a", namespaceUid: "tenant" };
  const observed = {
    permissionClaim: claim,
    consumer: undefined,
    provider,
    consumerRef,
    providerRef,
    tenant,
  };
  const { step } = planClaimed({ ...observed, resource: "secrets" });
  return step?.do === "create" && step.on === "consumer";
}

const labelled = { labels: { "service-binding": "true" } };

test("the shipped permission claim is the only one, and can be honoured as it is written", () => {
  assert.deepEqual([offered, ...others], [shipped]);
  assert.deepEqual(claimFaults(shipped, { namespaced: true, clusterWide: false }), []);
});

test("credentials come down: those of connections, and those that the operator of a8s labels", () => {
  assert.ok(crosses("connection.crossplane.io/v1alpha1"));
  assert.ok(crosses("Opaque", labelled));
  assert.ok(crosses(undefined, labelled));
});

test("no other Secret of the namespace comes down", () => {
  for (const type of [
    "Opaque",
    undefined,
    "kubernetes.io/tls",
    "kubernetes.io/basic-auth",
    "connection.crossplane.io",
  ])
    assert.ok(!crosses(type), String(type));
  for (const value of ["false", "", "TRUE", "true,"])
    assert.ok(!crosses("Opaque", { labels: { "service-binding": value } }), value);
  // An annotation is no label, and a mark of the owner allows nothing.
  const annotations = { "service-binding": "true", [resourceOwnerAnnotation]: "Provider" };
  assert.ok(!crosses("Opaque", { annotations }));
  assert.ok(!crosses("Opaque", { annotations: { [resourceOwnerAnnotation]: "Consumer" }, ...labelled }));
});

test("Secrets that clusters make for themselves stay, whatever labels they have", () => {
  for (const type of [
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
  ])
    assert.ok(!crosses(type, labelled), type);
});

test("whatever labels a Secret has, it stays unless one of them is the operator's", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), (labels) => {
      assert.equal(
        crosses("Opaque", { labels }),
        Object.hasOwn(labels, "service-binding") && labels["service-binding"] === "true",
      );
    }),
  );
});
