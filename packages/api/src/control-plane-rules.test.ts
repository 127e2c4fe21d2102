import assert from "node:assert/strict";
import { test } from "node:test";
import {
  backendRules,
  binderRules,
  clusterWideExportRules,
  consoleRules,
  controlPlaneConnectorRules,
  controlPlaneModeRules,
} from "./rbac.ts";
import type { PolicyRule } from "@klutch/kube-core";

const rights = (rules: readonly PolicyRule[]): readonly string[] =>
  rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
    ),
  );

test("in control-plane mode the backend holds every right of control-plane-connector, so that it may hand it out without escalate on roles", () => {
  const own = new Set(rights([...backendRules, ...controlPlaneModeRules]));
  assert.deepEqual(
    rights(controlPlaneConnectorRules).filter((right) => !own.has(right)),
    [],
  );
});

test("a konnector of the control plane reads Secrets, never writes them, and has no wildcard", () => {
  // It has both roles in its namespace.
  const all = rights([...binderRules, ...controlPlaneConnectorRules]);
  assert.deepEqual(
    all.filter((right) => right.includes(" secrets.")),
    ["get secrets.", "list secrets.", "watch secrets."],
  );
  assert.deepEqual(
    all.filter((right) => right.includes("*")),
    [],
  );
});

test("the backend never lists or watches Secrets, and reads those of app clusters only, unless control-plane mode lets it read others by name", () => {
  const onSecrets = (rules: readonly PolicyRule[]): readonly string[] =>
    rules
      .filter(({ resources = [] }) => resources.includes("secrets"))
      .flatMap((rule) => rights([rule]).map((right) => `${right} ${rule.resourceNames?.join() ?? "*"}`));
  assert.deepEqual(onSecrets(backendRules), [
    "get secrets. kubeconfig,klutch-binder",
    "patch secrets. kubeconfig,klutch-binder",
    "create secrets. *",
  ]);
  assert.deepEqual(onSecrets(controlPlaneModeRules), [
    "get secrets. *",
    "patch secrets. *",
    "delete secrets. *",
  ]);
});

test("no account of an app cluster writes Events where its Tenant is, but for konnectors of the control plane: the console believes Events there", () => {
  const spec = { group: "example.org", names: { plural: "databases" } };
  const claims = ["", "events.k8s.io"].map((group) => ({ group, resource: "events" }));
  const bound = { spec: { ...spec, permissionClaims: claims } } as unknown as Parameters<
    typeof clusterWideExportRules
  >[0][number];
  const onEvents = (rules: readonly PolicyRule[]): readonly string[] =>
    rights(rules).filter((right) => right.includes(" events."));
  assert.deepEqual(onEvents(binderRules), []);
  assert.deepEqual(onEvents(clusterWideExportRules([bound])), []);
  assert.deepEqual(onEvents(controlPlaneConnectorRules), ["create events."]);
});

test("the console only reads, and no Secret", () => {
  const verbs = new Set(consoleRules.flatMap((rule) => rule.verbs));
  assert.deepEqual(verbs.difference(new Set(["get", "list", "watch"])), new Set());
  assert.deepEqual(
    rights(consoleRules).filter((right) => right.includes(" secrets.")),
    [],
  );
});
