import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  type APIServiceExport,
  consumerNamespace,
  type PermissionClaim,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { claimsOf, withMarked } from "./claimed.ts";

const claim = (resource: string, group = ""): PermissionClaim => ({ group, resource, version: "v1" });
const apiVersion = "klutch.anynines.com/v1alpha1";

function binding(name: string, permissionClaims: readonly AnsweredPermissionClaim[]): APIServiceBinding {
  const kubeconfigSecretRef = { namespace: consumerNamespace, name: "k", key: "kubeconfig" } as const;
  const metadata = { namespace: consumerNamespace, name };
  return {
    apiVersion,
    kind: "APIServiceBinding",
    metadata,
    spec: { kubeconfigSecretRef, permissionClaims },
  };
}
function exported(name: string, permissionClaims: readonly PermissionClaim[]): APIServiceExport {
  return {
    apiVersion,
    kind: "APIServiceExport",
    metadata: { namespace: "cluster-a", name },
    spec: {
      group: "example.org",
      names: { kind: "Widget", plural: "widgets" },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [],
      permissionClaims,
    },
  };
}
const accepted = (one: PermissionClaim): AnsweredPermissionClaim => ({ ...one, state: "Accepted" });
const resourcesOf = (claims: readonly PermissionClaim[]): readonly string[] =>
  claims.map(({ resource }) => resource);

test("a claim counts when the binding accepted it and its own export makes it", () => {
  const rejected = { ...claim("configmaps"), state: "Rejected" } as const;
  const bound = [
    binding("widgets.example.org", [accepted(claim("secrets")), rejected, accepted(claim("events"))]),
  ];
  const exports = [
    exported("gadgets.example.org", [claim("events")]),
    exported("widgets.example.org", [claim("secrets"), claim("configmaps")]),
  ];
  assert.deepEqual(resourcesOf(claimsOf(bound, exports)), ["secrets"]);
});

test("without its export a binding has no claims", () => {
  assert.deepEqual(claimsOf([binding("widgets.example.org", [accepted(claim("secrets"))])], []), []);
});

test("an object that is read whole is not there a second time because it is marked", () => {
  const object = (uid: string): DynamicObject => ({ apiVersion: "v1", kind: "Secret", metadata: { uid } });
  const whole = { ...object("one"), data: {} };
  assert.deepEqual(withMarked([whole], [object("one"), object("elsewhere")]), [whole, object("elsewhere")]);
});
