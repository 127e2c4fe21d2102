import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeClaim } from "./claim-policy.ts";
import type { PermissionClaim } from "./kinds/permission-claim.ts";

const api = { group: "anynines.com" };
const kindOf = (resource: string, more: Partial<PermissionClaim> = {}): string =>
  judgeClaim({ group: "", version: "v1", resource, ...more }, api).kind;

test("what the shipped templates claim is plain: Secrets and ConfigMaps that the provider owns", () => {
  assert.equal(
    kindOf("secrets", { selector: { owner: "Provider", names: ["*"], namespaces: ["*"] } }),
    "plain",
  );
  assert.equal(kindOf("configmaps", { selector: { owner: "Provider" } }), "plain");
  assert.equal(kindOf("configmaps", { selector: { owner: "Consumer" } }), "plain");
  assert.equal(kindOf("secrets", { selector: { owner: "Consumer", names: ["db-admin"] } }), "plain");
});

test("what a person must accept by hand: a cluster's own Secrets, taking over what exists, kinds beyond payload", () => {
  assert.equal(kindOf("secrets"), "grave");
  assert.equal(kindOf("secrets", { selector: { owner: "Consumer" } }), "grave");
  assert.equal(kindOf("secrets", { selector: { owner: "Consumer", names: ["a", "*"] } }), "grave");
  assert.equal(kindOf("secrets", { selector: { owner: "Provider" }, autoAdopt: true }), "grave");
  assert.equal(kindOf("configmaps", { create: { replaceExisting: true } }), "grave");
  assert.equal(kindOf("services", { selector: { owner: "Provider" } }), "grave");
  assert.equal(kindOf("widgets", { group: "anynines.com" }), "grave");
});

test("no one can accept: wildcards, identities, workloads, RBAC, webhooks, CRDs, foreign groups, system namespaces", () => {
  for (const resource of [
    "pods",
    "nodes",
    "namespaces",
    "serviceaccounts",
    "persistentvolumes",
    "events",
    "bindings",
    "replicationcontrollers",
    "*",
    "secrets/status",
    "Secrets",
    "",
  ]) {
    assert.equal(kindOf(resource), "refused", resource);
  }
  for (const [resource, group] of [
    ["deployments", "apps"],
    ["clusterroles", "rbac.authorization.k8s.io"],
    ["customresourcedefinitions", "apiextensions.k8s.io"],
    ["validatingwebhookconfigurations", "admissionregistration.k8s.io"],
    ["apiservicebindings", "klutch.anynines.com"],
    ["certificates", "cert-manager.example"],
    ["widgets", "*"],
    ["secrets", "*"],
    ["*", "anynines.com"],
  ] as const) {
    assert.equal(kindOf(resource, { group }), "refused", `${resource}.${group}`);
  }
  for (const namespace of ["kube-system", "kube-public", "klutch-bind"]) {
    const selector = { owner: "Provider" as const, namespaces: ["app", namespace] };
    assert.equal(kindOf("secrets", { selector }), "refused", namespace);
  }
});
