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
  const exact = { names: ["db-admin"], namespaces: ["app"] };
  assert.equal(kindOf("secrets", { selector: { owner: "Consumer", ...exact } }), "plain");
  assert.equal(kindOf("secrets", { selector: exact }), "plain");
  assert.equal(kindOf("configmaps", { selector: exact }), "plain");
});

test("guesses are grave: many exact names, names without namespaces, and what either side may own without names", () => {
  const names = Array.from({ length: 11 }, (_, at) => `db-${at}`);
  const namespaces = ["app"];
  for (const owner of ["Consumer", undefined] as const) {
    assert.equal(kindOf("secrets", { selector: { ...(owner && { owner }), names, namespaces } }), "grave");
    assert.equal(kindOf("secrets", { selector: { ...(owner && { owner }), names: ["db-admin"] } }), "grave");
    const anywhere = { names: ["db-admin"], namespaces: ["app", "*"] };
    assert.equal(kindOf("secrets", { selector: { ...(owner && { owner }), ...anywhere } }), "grave");
  }
  assert.equal(kindOf("configmaps"), "grave");
  assert.equal(kindOf("configmaps", { selector: { names, namespaces } }), "grave");
  const many = judgeClaim(
    { group: "", version: "v1", resource: "secrets", selector: { owner: "Consumer", names, namespaces } },
    api,
  );
  assert.match(
    "reason" in many ? many.reason : "",
    /a Secret with one of 11 names .* guesses at Secrets of others/,
  );
});

test("labels and annotations that steer programs of the app cluster are grave, whichever list has them, and the reason names them", () => {
  const lists = [
    "labels",
    "annotations",
    "labelsOnConsumerOwnedObjects",
    "annotationsOnConsumerOwnedObjects",
  ] as const;
  const provided = { selector: { owner: "Provider" } } as const;
  for (const list of lists) {
    for (const pattern of [
      "*",
      "*/*",
      "replicator.v1.mittwald.de/replicate-to",
      "reflector.v1.k8s.emberstack.com/*",
      "jenkins.io/*",
      "grafana_dashboard",
      "owner",
      "*.anynines.com/x",
      "notanynines.com/x",
      "anynines.com*",
      // A group is what the provider calls it: it may be that of a controller in the app cluster.
      "anynines.com/*",
      "db.anynines.com/plan",
      "a*p",
    ]) {
      const claim = {
        group: "",
        version: "v1",
        resource: "secrets",
        ...provided,
        update: { [list]: [{ pattern }] },
      };
      const verdict = judgeClaim(claim, api);
      assert.equal(verdict.kind, "grave", `${list} ${pattern}`);
      assert.ok(
        "reason" in verdict && verdict.reason.endsWith(`that the provider sets: ${pattern}`),
        verdict.kind,
      );
    }
    for (const pattern of ["team", "app.kubernetes.io/name", "klutch.io/*"])
      assert.equal(kindOf("secrets", { ...provided, update: { [list]: [{ pattern }] } }), "plain", pattern);
  }
});

test("all that may happen is told, not just the first", () => {
  const claim = {
    group: "",
    version: "v1",
    resource: "secrets",
    autoAdopt: true,
    update: { labels: [{ pattern: "*" }] },
  };
  const verdict = judgeClaim(claim, api);
  const reason = "reason" in verdict ? verdict.reason : "";
  assert.match(
    reason,
    /takes over secrets .*; and every Secret .* can leave .*; and programs of your cluster/,
  );
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
