import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedClaimsText } from "./accepted-claims.ts";
import { claimRights } from "./admission/konnector-scope.ts";
import { isBuiltInGroup } from "./foreign/api-name.ts";
import type { PermissionClaim } from "./kinds/permission-claim.ts";
import { bindingRoleManifests, konnectorManifests } from "./konnector-manifests.ts";
import {
  backendRules,
  binderRules,
  bindingRules,
  clusterWideExportRules,
  controlPlaneModeRules,
  exportRules,
  type GrantedExport,
  konnectorClusterRules,
  konnectorNamespaceRules,
  rejectedClaims,
  rejectedClaimsAnnotation,
} from "./rbac.ts";
import type { PolicyRule } from "@klutch/kube-core";

const everything = {
  backendRules,
  controlPlaneModeRules,
  binderRules,
  konnectorClusterRules,
  konnectorNamespaceRules,
};
/** One line a right: "verb resource.group". */
const rights = (rules: readonly PolicyRule[]): readonly string[] =>
  rules
    .flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => `${verb} ${group === "" ? resource : `${resource}.${group}`}`),
        ),
      ),
    )
    .toSorted();

for (const [name, rules] of Object.entries(everything)) {
  test(`${name} names every group, resource and verb: no wildcard`, () => {
    assert.ok(rights(rules).length > 0);
    for (const right of rights(rules)) assert.ok(!right.includes("*"), right);
  });
}

test("only the backend may hand out rights it does not have, and only as cluster roles", () => {
  const special = Object.entries(everything).flatMap(([name, rules]) =>
    rights(rules)
      .filter((right) => /^(escalate|bind|impersonate) /.test(right))
      .map((right) => `${name}: ${right}`),
  );
  assert.deepEqual(special, [
    "backendRules: bind clusterroles.rbac.authorization.k8s.io",
    "backendRules: escalate clusterroles.rbac.authorization.k8s.io",
  ]);
});

test("the konnector reads no Secret and no foreign kind of an app cluster before something is bound", () => {
  assert.deepEqual(
    rights(konnectorClusterRules).filter((right) => /secret|configmap| \*/.test(right)),
    [],
  );
});

test("an app cluster's account can do in its cluster namespace what an existing konnector does", () => {
  const bind = (resource: string): string => `${resource}.klutch.anynines.com`;
  const verbs = (resource: string, ...names: readonly string[]): readonly string[] =>
    names.map((verb) => `${verb} ${resource}`);
  const all = ["create", "delete", "get", "list", "patch", "update", "watch"];
  const expected = [
    ...verbs(bind("apiserviceexportrequests"), ...all),
    ...verbs(bind("apiservicenamespaces"), ...all),
    ...verbs(bind("apiserviceexports"), "get", "list", "watch"),
    ...verbs(bind("apiserviceexports/status"), "get", "patch", "update"),
    ...verbs(bind("clusterbindings"), "get", "list", "watch"),
    ...verbs(bind("clusterbindings/status"), "get", "patch", "update"),
    ...verbs("namespaces", "get"),
    ...verbs("secrets", "get", "list", "watch"),
  ];
  assert.deepEqual(rights(binderRules), expected.toSorted());
});

const dbs = { group: "example.org", resource: "dbs" };
const claim = { group: "", resource: "secrets", version: "v1" } as const;

test("the konnector changes the CRDs of bound APIs, and no other, that of bindings least of all", () => {
  const changes = (rules: readonly PolicyRule[]): unknown =>
    rules
      .filter(({ resources = [] }) => resources.includes("customresourcedefinitions"))
      .filter(({ verbs }) => verbs.some((verb) => ["update", "patch", "delete"].includes(verb)))
      .map(({ verbs, resourceNames }) => ({ verbs, resourceNames }));
  const verbs = ["update", "patch"];
  assert.deepEqual(changes(konnectorClusterRules), []);
  assert.deepEqual(changes(bindingRules(dbs, [])), [{ verbs, resourceNames: ["dbs.example.org"] }]);
});

test("a rejected claim gives the konnector no right", () => {
  const accepted = rights(bindingRules(dbs, [{ ...claim, state: "Accepted" }]));
  const rejected = rights(bindingRules(dbs, [{ ...claim, state: "Rejected" }]));
  assert.ok(accepted.includes("create secrets"));
  assert.deepEqual(
    rejected.filter((right) => right.includes("secrets")),
    [],
  );
});

test("a claim with names gives rights on the objects of these names only, and to create any, which the policy narrows", () => {
  const of = (selector: object, options?: object): unknown =>
    bindingRules(dbs, [{ ...claim, selector, state: "Accepted" }], options)
      .slice(bindingRules(dbs, []).length)
      .map(({ verbs, resourceNames }) => [verbs.join(" "), resourceNames]);
  const all = "get list watch create update patch delete";
  assert.deepEqual(of({ names: ["a", "b.c"] }), [
    ["get list watch update patch delete", ["a", "b.c"]],
    ["create", undefined],
  ]);
  assert.deepEqual(of({ owner: "Consumer", names: ["a"] }), [["get list watch", ["a"]]]);
  // An agent of an earlier release watches all.
  assert.deepEqual(of({ names: ["a"] }, { isWide: true }), [[all, undefined]]);
  for (const names of [undefined, [], ["*"], ["a", "*"], ["a b"], "abcdefghijk".split("")])
    assert.deepEqual(of({ names }), [[all, undefined]]);
});

test("the rights of a claim are listed by object, and by place no more once there are thousands", () => {
  const selector = { names: ["a", "b"], namespaces: ["x", "y"], owner: "Consumer" } as const;
  assert.deepEqual(claimRights({ ...claim, selector, update: { fields: ["data['tls.crt']"] } }), [
    ...["read", "patch"].flatMap((verb) =>
      ["x/a", "x/b", "y/a", "y/b"].map((object) => `${verb} secrets ${object}`),
    ),
    "field secrets data.tls.crt",
  ]);
  const names = Array.from({ length: 100 }, (_, at) => `n${at}`);
  const many = claimRights({ ...claim, selector: { names, namespaces: names, owner: "Consumer" } });
  assert.deepEqual([many.length, many[0]], [100, "read secrets */n0"]);
  assert.deepEqual(claimRights({ ...claim, resource: "secrets' || true" }), []);
});

test("what people accepted has room on a role, or is refused as a whole", () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `name-${at}`);
  const answered = [{ ...claim, selector: { names }, state: "Accepted" }] as const;
  assert.throws(() => acceptedClaimsText(answered), /more than 200000/);
  assert.equal(acceptedClaimsText([{ ...answered[0], state: "Rejected" }]), "[]");
});

test("claimed objects that the consumer owns are only read", () => {
  const rules = bindingRules(dbs, [{ ...claim, state: "Accepted", selector: { owner: "Consumer" } }]);
  assert.deepEqual(
    rights(rules).filter((right) => right.includes("secrets")),
    ["get secrets", "list secrets", "watch secrets"],
  );
});

test("the konnector may delete objects of the bound kind, which unbinding with policy Delete needs, and no others", () => {
  const deletes = rights(bindingRules(dbs, [])).filter((right) => right.startsWith("delete "));
  assert.deepEqual(deletes, ["delete dbs.example.org"]);
});

test("consumer-owned objects are only read, unless the claim names what may change in them", () => {
  const owned: PermissionClaim = { resource: "things", version: "v1", selector: { owner: "Consumer" } };
  assert.ok(!rights(bindingRules(dbs, [owned])).some((right) => /^(patch|update|create) things/.test(right)));
  const changing = { ...owned, update: { fields: ["spec.a"] } };
  assert.ok(rights(bindingRules(dbs, [changing])).some((right) => right.startsWith("patch things")));
});

test("a tenant's role is the same whatever the order of its exports, with each resource once", () => {
  const spec = (plural: string): Parameters<typeof exportRules>[0][number] => ({
    spec: {
      group: "example.org",
      names: { kind: plural, plural },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [],
      permissionClaims: [claim],
    },
  });
  const rules = exportRules([spec("b"), spec("a")]);
  assert.deepEqual(rules, exportRules([spec("a"), spec("b")]));
  assert.deepEqual(
    rules.map(({ resources }) => resources),
    [["events"], ["secrets"], ["a"], ["b"]],
  );
});

const exported = (more: Partial<GrantedExport> = {}): GrantedExport => ({
  spec: {
    group: "example.org",
    names: { kind: "Db", plural: "dbs" },
    scope: "Namespaced",
    informerScope: "Cluster",
    versions: [],
    permissionClaims: [
      claim,
      { group: "apps", resource: "deployments", version: "v1" },
      { group: "snapshot.storage.k8s.io", resource: "volumesnapshots", version: "v1" },
      { group: "example.com", resource: "things", version: "v1" },
    ],
  },
  ...more,
});

test("no kind of Kubernetes itself is granted in the whole cluster", () => {
  assert.deepEqual(
    clusterWideExportRules([exported()]).map(({ resources }) => resources),
    [["things"], ["dbs"]],
  );
  for (const group of ["", "apps", "batch", "rbac.authorization.k8s.io", "x.k8s.io", "k8s.io"]) {
    assert.ok(isBuiltInGroup(group), group);
  }
  for (const group of ["example.org", "notk8s.io", "k8s.io.example.org"]) {
    assert.ok(!isBuiltInGroup(group), group);
  }
});

test("a rejected claim gives the tenant's account no right; another export's claim on the same resource does", () => {
  const rejecting = exported({
    metadata: { annotations: { [rejectedClaimsAnnotation]: "secrets,things.example.com" } },
  });
  const resources = (...exports: readonly GrantedExport[]): readonly unknown[] =>
    exportRules(exports).flatMap((rule) => rule.resources ?? []);
  assert.deepEqual(resources(rejecting), ["events", "deployments", "dbs", "volumesnapshots"]);
  assert.ok(resources(rejecting, exported()).includes("secrets"));
});

test("an API that is no longer offered may be served and deleted, and nothing new made", () => {
  const [rule] = exportRules([exported({ withdrawn: true })]).filter(
    ({ resources }) => resources?.[0] === "dbs",
  );
  assert.deepEqual(rule?.verbs, ["get", "list", "watch", "update", "patch", "delete"]);
});

test("the rejected resources are those that no accepted claim names, each once and in order", () => {
  const things: PermissionClaim = { group: "example.com", resource: "things", version: "v1" };
  assert.equal(rejectedClaims([claim, things], [claim, things]), undefined);
  assert.equal(rejectedClaims([things, claim, claim], []), "secrets,things.example.com");
  assert.equal(rejectedClaims([claim], [{ ...claim, selector: { owner: "Consumer" } }]), undefined);
  assert.equal(rejectedClaims([], [claim]), undefined);
});

const manifests = konnectorManifests({ image: "example.org/konnector:v1" });

test("the konnector's manifests can be applied in their order", () => {
  const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  assert.deepEqual(names, [
    "Namespace klutch-bind",
    "ServiceAccount konnector",
    "ClusterRole klutch-bind-konnector",
    "ClusterRoleBinding klutch-bind-konnector",
    "Role klutch-bind-konnector",
    "RoleBinding klutch-bind-konnector",
    "ClusterRole klutch-bind:apiservicebindings.klutch.anynines.com:view",
    "Deployment konnector",
  ]);
});

test("the konnector runs twice, unprivileged, with probes and its identity", () => {
  const text = JSON.stringify(manifests.at(-1));
  for (const part of [
    '"replicas":2',
    '"image":"example.org/konnector:v1"',
    '"serviceAccountName":"konnector"',
    '"path":"/healthz","port":8080',
    '"path":"/readyz","port":8080',
    '"name":"POD_NAME"',
    '"name":"POD_NAMESPACE"',
    '"--lease-namespace=$(POD_NAMESPACE)"',
    '"runAsNonRoot":true',
    '"allowPrivilegeEscalation":false',
    '"readOnlyRootFilesystem":true',
  ])
    assert.ok(text.includes(part), part);
});

test("the role of a bound API is bound to the konnector only", () => {
  const [role, binding] = bindingRoleManifests(
    "klutch-bind-konnector:dbs.example.org",
    bindingRules(dbs, []),
  );
  assert.equal(role?.metadata.name, binding?.metadata.name);
  assert.deepEqual(binding?.["subjects"], [
    { kind: "ServiceAccount", name: "konnector", namespace: "klutch-bind" },
  ]);
});
