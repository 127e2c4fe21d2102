import assert from "node:assert/strict";
import { test } from "node:test";
import { bindingRules, consumerNamespace, konnectorClusterRules, konnectorNamespaceRules } from "@klutch/api";
import type { PolicyRule } from "@klutch/kube-core";
import {
  bindsKonnector,
  type BoundApi,
  expectedManifests,
  gapsOf,
  type Grant,
  sameRights,
  surplusOf,
  wildcardsIn,
} from "./rights.ts";

const claims: BoundApi["claims"] = [
  { resource: "secrets", version: "v1", selector: { owner: "Consumer" }, state: "Accepted" },
  { resource: "configmaps", version: "v1", state: "Rejected" },
];
const bound: BoundApi = { name: "widgets.example.org", claims };
const grant = (rules: readonly PolicyRule[], namespace?: string): Grant => ({
  role: "ClusterRole r",
  binding: "ClusterRoleBinding b",
  namespace,
  rules,
});
const base = grant(konnectorClusterRules);
const own = grant(konnectorNamespaceRules, consumerNamespace);
const api = grant(bindingRules({ group: "example.org", resource: "widgets" }, claims));

test("what Klutch writes has neither surplus nor gap", () => {
  for (const one of [base, own, api]) assert.deepEqual(surplusOf(one, [bound]), []);
  assert.deepEqual(gapsOf([base, own, api], [bound]), []);
});

test("rights for a rejected claim, for another owner, in all namespaces or for an unbound API are surplus", () => {
  const rule = (resource: string, ...verbs: string[]): Grant =>
    grant([{ apiGroups: [""], resources: [resource], verbs }]);
  assert.deepEqual(surplusOf(rule("configmaps", "get"), [bound]), ["get on configmaps"]);
  assert.deepEqual(surplusOf(rule("secrets", "get", "create"), [bound]), ["create on secrets"]);
  assert.deepEqual(surplusOf(grant(konnectorNamespaceRules, "default"), []).length, 2);
  assert.match(surplusOf(api, [])[0] ?? "", /on widgets\.example\.org$/);
  assert.deepEqual(surplusOf(grant([{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]), [bound]), [
    "get on URL /metrics",
  ]);
});

test("a rule for some names does not cover all of them", () => {
  const named = grant([{ ...konnectorClusterRules[0], resourceNames: ["one"], verbs: ["get"] }]);
  assert.deepEqual(surplusOf(named, []), []);
  assert.match(gapsOf([named, own], []).join("\n"), /get, list.* on customresourcedefinitions/);
});

test("rights on single objects are compared and named one by one", () => {
  const crdsOf = (resourceNames?: readonly string[]): Grant =>
    grant([
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        resourceNames,
        verbs: ["update", "patch"],
      },
    ]);
  const on = "update, patch on customresourcedefinitions.apiextensions.k8s.io";
  // What older versions gave for all of them, in either form.
  for (const names of [undefined, []]) assert.deepEqual(surplusOf(crdsOf(names), [bound]), [on]);
  const both = ["widgets.example.org", "gadgets.example.org"];
  assert.deepEqual(surplusOf(crdsOf(both), [bound]), [`${on} (only gadgets.example.org)`]);
  const withoutApi = [base, own, grant(api.rules.filter(({ resourceNames }) => resourceNames === undefined))];
  assert.deepEqual(gapsOf(withoutApi, [bound]), [`${on} (only widgets.example.org)`]);
  assert.deepEqual(gapsOf([...withoutApi, crdsOf(both)], [bound]), []);
});

test("wildcards are named once and close every gap", () => {
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  assert.deepEqual(wildcardsIn(rules), ["* on * of all API groups"]);
  assert.deepEqual(surplusOf(grant(rules), [bound]), []);
  assert.deepEqual(gapsOf([grant(rules)], [bound]), []);
  assert.equal(wildcardsIn([{ apiGroups: [""], resources: ["*/status"], verbs: ["get"] }]).length, 1);
});

test("rules that say the same in another form are the same", () => {
  const split = konnectorClusterRules.flatMap((rule) =>
    rule.verbs.map((verb) => ({ ...rule, verbs: [verb] })),
  );
  assert.ok(sameRights(split, konnectorClusterRules));
  assert.ok(!sameRights(split.slice(1), konnectorClusterRules));
});

test("the account is found as service account, as user and by its namespace's group", () => {
  const binds = (kind: string, name: string): boolean => bindsKonnector([{ kind, name }]);
  assert.ok(bindsKonnector([{ kind: "ServiceAccount", name: "konnector", namespace: consumerNamespace }]));
  assert.ok(!bindsKonnector([{ kind: "ServiceAccount", name: "konnector", namespace: "default" }]));
  assert.ok(binds("User", "system:serviceaccount:klutch-bind:konnector"));
  assert.ok(binds("Group", "system:serviceaccounts:klutch-bind"));
  assert.ok(!binds("Group", "system:serviceaccounts"));
});

test("C4: roles of single APIs come before the base role, which may narrow an older agent's", () => {
  const names = expectedManifests([bound]).map(({ metadata }) => metadata.name);
  assert.deepEqual(names.slice(0, 5), [
    "klutch-bind-konnector:widgets.example.org",
    "klutch-bind-konnector:widgets.example.org",
    "klutch-bind:widgets.example.org:view",
    "klutch-bind:widgets.example.org:edit",
    "klutch-bind-konnector",
  ]);
});

test("a binding whose name no provider may offer gets no role, and what gives its rights is surplus", () => {
  const pods = { name: "pods", claims: [] };
  assert.deepEqual(expectedManifests([pods]), expectedManifests([]));
  const rules = bindingRules({ resource: "pods" }, []);
  assert.match(surplusOf(grant(rules), [pods]).join(), /create.* on pods/);
});
