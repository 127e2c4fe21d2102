import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnsweredPermissionClaim, PermissionClaim } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { answeredClaims } from "./answered-claims.ts";
import { availability } from "./konnector-deployment.ts";
import { holds } from "./managed-content.ts";
import { exportRequestName, konnectorDeploymentName, ownerOf, rootNamespaceName } from "./names.ts";

test("two AppClusterBindings never share a root namespace, and the ordinary one keeps its plain name", () => {
  assert.equal(rootNamespaceName("default", "control-plane-test"), "klutch-bind-default-control-plane-test");
  const hashed = rootNamespaceName("a-b", "c");
  assert.match(hashed, /^klutch-bind-a-b-c-[0-9a-f]{10}$/);
  assert.equal(hashed, rootNamespaceName("a-b", "c"));
  assert.equal(rootNamespaceName("a", "b-c"), "klutch-bind-a-b-c");
  assert.notEqual(rootNamespaceName("a", "b.c"), rootNamespaceName("a", "b-c"));
});

test("long names and names with dots give valid names and label values", () => {
  const name = `${"very-".repeat(30)}long.name`;
  const namespace = "n".repeat(63);
  const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
  assert.match(rootNamespaceName("default", name), label);
  assert.match(rootNamespaceName(namespace, "x"), label);
  assert.match(rootNamespaceName("default", "a.b"), label);
  assert.ok(konnectorDeploymentName(name).length <= 63);
  const owner = ownerOf({
    apiVersion: "",
    kind: "",
    metadata: { namespace, name },
    spec: { kubeconfigSecretRef: { namespace, name: "s", key: "kubeconfig" } },
  });
  for (const value of Object.values(owner.labels)) assert.match(value, label);
  assert.deepEqual(Object.values(owner.annotations), [`${namespace}/${name}`]);
});

test("export requests have readable names of at most 63 characters that differ by export", () => {
  const request = exportRequestName("app", "databases", "databases.example.org");
  assert.match(request, /^appclusterbinding-app-databases-[0-9a-f]{8}$/);
  const long = exportRequestName("B".repeat(80), "t".repeat(80), "one.example.org");
  assert.match(long, /^appclusterbinding-b{24}-t{11}-[0-9a-f]{8}$/);
  assert.equal(long.length, 63);
  assert.notEqual(long, exportRequestName("B".repeat(80), "t".repeat(80), "two.example.org"));
  // Published vectors of FNV-1a, 32 bits.
  assert.match(exportRequestName("a", "b", ""), /-811c9dc5$/);
  assert.match(exportRequestName("a", "b", "foobar"), /-bf9cf968$/);
});

const claim = (names: readonly string[], more: object = {}): PermissionClaim => ({
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { names },
  ...more,
});
const answered = (names: readonly string[], state: "Accepted" | "Rejected"): AnsweredPermissionClaim => ({
  ...claim(names),
  state,
});

test("new claims are accepted, and an answer stays, also when its claim's text changes", () => {
  assert.deepEqual(answeredClaims([claim(["a"])], []), [answered(["a"], "Accepted")]);
  assert.deepEqual(answeredClaims([claim(["a"]), claim(["b"])], [answered(["b"], "Rejected")]), [
    answered(["a"], "Accepted"),
    answered(["b"], "Rejected"),
  ]);
  assert.deepEqual(answeredClaims([claim(["wider"])], [answered(["a"], "Rejected")]), [
    answered(["wider"], "Rejected"),
  ]);
  const configMaps = claim(["*"], { resource: "configmaps" });
  assert.deepEqual(answeredClaims([configMaps], [answered(["a"], "Rejected")]), [
    { ...configMaps, state: "Accepted" },
    answered(["a"], "Rejected"),
  ]);
});

test("answering again changes nothing", () => {
  const template = [claim(["a"]), claim(["b"])];
  const once = answeredClaims(template, [answered(["c"], "Rejected"), answered(["a"], "Rejected")]);
  assert.deepEqual(answeredClaims(template, once), once);
});

test("what the server adds, normalises or leaves out is no difference; an edit is", () => {
  const wanted = {
    replicas: 2,
    containers: [
      {
        name: "k",
        image: "a",
        stdin: false,
        env: [{ name: "A", value: "" }],
        resources: { limits: { cpu: "0.5" } },
      },
    ],
  };
  const live = {
    replicas: 2,
    strategy: {},
    containers: [
      { name: "sidecar" },
      {
        name: "k",
        image: "a",
        imagePullPolicy: "Always",
        env: [{ name: "X" }, { name: "A" }],
        resources: { limits: { cpu: "500m" } },
      },
    ],
  };
  assert.ok(holds(live, wanted));
  assert.ok(!holds({ ...live, replicas: 1 }, wanted));
  assert.ok(!holds({ ...live, containers: [{ ...live.containers[1], image: "b" }] }, wanted));
  assert.ok(!holds({ replicas: 2 }, wanted));
  assert.ok(!holds({ args: ["a", "b"] }, { args: ["a"] }));
  assert.ok(!holds({ readOnly: true }, { readOnly: false }));
});

test("quantities are compared as numbers", () => {
  const limits = (cpu: string): object => ({ resources: { limits: { cpu } } });
  assert.ok(holds(limits("1"), limits("1000m")));
  assert.ok(!holds(limits("1"), limits("1001m")));
  assert.ok(!holds(limits("much"), limits("more")));
  assert.ok(!holds({ args: { cpu: "1" } }, { args: { cpu: "1000m" } }));
});

const deployment = (generation: number, status: object): DynamicObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "konnector-app", generation },
  status,
});

test("KonnectorDeployed follows the Deployment: not rolled out, blocked with the reason, available", () => {
  assert.match(availability(deployment(2, { observedGeneration: 1 })).message ?? "", /not rolled out yet/);
  const blocked = availability(
    deployment(1, {
      observedGeneration: 1,
      conditions: [
        { type: "Available", status: "False", message: "minimum" },
        { type: "ReplicaFailure", status: "True", message: "exceeded quota" },
      ],
    }),
  );
  assert.equal(blocked.reason, "KonnectorDeploymentFailed");
  assert.match(blocked.message ?? "", /exceeded quota/);
  const good = { observedGeneration: 1, conditions: [{ type: "Available", status: "True" }] };
  assert.deepEqual(availability(deployment(1, good)), { type: "KonnectorDeployed", status: "True" });
});
