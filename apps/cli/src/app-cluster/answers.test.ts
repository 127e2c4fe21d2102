import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  bindingRules,
  boundApiRoleManifests,
  consumerNamespace,
  konnectorScopeOf,
} from "@klutch/api";
import type { PolicyRule, Role } from "@klutch/kube-core";
import fc from "fast-check";
import { answersOf } from "./answers.ts";
import type { Grant } from "./rights.ts";

const widgets = { resource: "widgets", group: "example.org" };
const claim: AnsweredPermissionClaim = {
  resource: "secrets",
  group: "",
  version: "v1",
  selector: { owner: "Provider" },
  state: "Accepted",
};
const rejected: AnsweredPermissionClaim = { ...claim, resource: "configmaps", state: "Rejected" };
const binding = (...permissionClaims: readonly AnsweredPermissionClaim[]): APIServiceBinding => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: { name: "widgets.example.org", namespace: consumerNamespace },
  spec: {
    kubeconfigSecretRef: { name: "k", namespace: consumerNamespace, key: "kubeconfig" },
    permissionClaims,
  },
});
/** The role that the plugin wrote for these answers. */
const roleFor = (...claims: readonly AnsweredPermissionClaim[]): Role =>
  boundApiRoleManifests(widgets, claims)[0] as Role;
const grant = (rules: readonly PolicyRule[]): Grant => ({ role: "r", binding: "b", rules });

test("what the role records is accepted, also as the API server completes it in the binding", () => {
  const completed = {
    ...claim,
    selector: { ...claim.selector, names: ["*"], namespaces: ["*"] },
    onConflict: { recreateWhenConsumerSideDeleted: true },
    read: {},
    update: {},
  };
  const { claims, unanswered } = answersOf(binding(completed, rejected), roleFor(claim, rejected), []);
  assert.deepEqual([claims, unanswered], [[completed], []]);
});

test("what only the binding says is not accepted: another kind, more names, another owner, a takeover", () => {
  const forged: readonly AnsweredPermissionClaim[] = [
    { ...claim, resource: "configmaps" },
    { ...claim, selector: { owner: "Consumer" } },
    { ...claim, autoAdopt: true },
    { ...claim, create: { replaceExisting: true } },
    { ...claim, update: { labels: [{ pattern: "*" }] } },
    { ...claim, selector: {}, update: { fields: ["data.a"] } },
  ];
  for (const one of forged) {
    const { claims, unanswered } = answersOf(binding(claim, one), roleFor(claim), [
      grant(bindingRules(widgets, [one])),
    ]);
    assert.deepEqual([claims, unanswered], [[claim], [one]]);
  }
  const narrow = { ...claim, selector: { owner: "Provider" as const, names: ["one"] } };
  assert.deepEqual(answersOf(binding(claim), roleFor(narrow), []).unanswered, [claim]);
  assert.deepEqual(answersOf(binding(claim), roleFor(rejected), []).unanswered, [claim]);
});

test("a role of an earlier release records nothing: the claims whose rights it has already go on", () => {
  const { metadata, ...rest } = roleFor(claim);
  const old: Role = { ...rest, metadata: { ...metadata, annotations: undefined } };
  const has = (...rules: readonly PolicyRule[]): boolean =>
    answersOf(binding(claim), old, [grant(rules)]).claims.length === 1;
  assert.ok(has(...bindingRules(widgets, [claim])));
  assert.ok(has({ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }), "that of an agent in Go");
  assert.ok(!has(...bindingRules(widgets, [])));
  assert.ok(!has({ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }));
});

test("a record that is no list of claims gives nothing but what the roles give", () => {
  for (const text of ["", "{", "{}", "[1]", '[{"resource":1}]', "null"]) {
    const role = roleFor(claim);
    const broken = {
      ...role,
      metadata: { ...role.metadata, annotations: { "klutch.anynines.com/accepted-permission-claims": text } },
    };
    assert.deepEqual(answersOf(binding(claim), broken, []).claims, [], text);
  }
});

test("whatever a binding says, the claims that are believed give no right beyond the record, and all of the record is believed", () => {
  const words = fc.uniqueArray(fc.constantFrom("a", "b", "*"), { minLength: 1 });
  const keys = fc.constantFrom([{ pattern: "team" }], [{ pattern: "*" }]);
  const optional = { requiredKeys: [] };
  const selector = fc.record(
    {
      owner: fc.constantFrom("Provider" as const, "Consumer" as const),
      names: words,
      namespaces: words,
      labelSelectors: fc.constantFrom([{ a: "b" }], [{}]),
      fieldSelectors: fc.constant(["type=example.org/odd"]),
    },
    optional,
  );
  const answered: fc.Arbitrary<AnsweredPermissionClaim> = fc.record(
    {
      group: fc.constant(""),
      resource: fc.constantFrom("secrets", "configmaps"),
      version: fc.constant("v1"),
      state: fc.constant("Accepted"),
      selector,
      autoAdopt: fc.boolean(),
      create: fc.record({ replaceExisting: fc.boolean() }, optional),
      read: fc.record({ labels: keys, annotations: keys, labelsOnProviderOwnedObjects: keys }, optional),
      update: fc.record(
        { fields: fc.constantFrom(["data.a"], ["data"]), labels: keys, labelsOnConsumerOwnedObjects: keys },
        optional,
      ),
    },
    { requiredKeys: ["group", "resource", "version", "state"] },
  );
  const rightsOf = (claims: readonly AnsweredPermissionClaim[]): ReadonlySet<string> => {
    const scope = konnectorScopeOf([{ name: "widgets.example.org", claims }]);
    const rules = bindingRules(widgets, claims).flatMap(({ resources = [], resourceNames = ["*"], verbs }) =>
      resources.flatMap((one) =>
        resourceNames.flatMap((name) => verbs.map((verb) => `${verb} ${one} ${name}`)),
      ),
    );
    return new Set([...scope.claims, ...scope.secretTypes, ...rules]);
  };
  fc.assert(
    fc.property(fc.array(answered, { maxLength: 3 }), fc.array(answered), (recorded, forged) => {
      // Each forged claim is also tried as a change of a recorded one.
      const changed = forged.flatMap((one) =>
        recorded.map((claim) => ({ ...claim, update: one.update, selector: one.selector })),
      );
      const all = binding(...recorded, ...forged, ...changed);
      const { claims } = answersOf(all, roleFor(...recorded), [
        grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]),
      ]);
      assert.deepEqual(rightsOf(claims).difference(rightsOf(recorded)), new Set());
      assert.deepEqual(claims.slice(0, recorded.length), recorded);
    }),
    { numRuns: 300 },
  );
});
