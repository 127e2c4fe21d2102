import assert from "node:assert/strict";
import { test } from "node:test";
import { backendRules, binderRules, controlPlaneConnectorRules } from "./rbac.ts";
import type { PolicyRule } from "@klutch/kube-core";

const rights = (rules: readonly PolicyRule[]): readonly string[] =>
  rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
    ),
  );

test("the backend holds every right of control-plane-connector, so that it may hand it out without escalate on roles", () => {
  const own = new Set(rights(backendRules));
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

test("the backend reads Secrets by name and never lists or watches them", () => {
  assert.deepEqual(
    rights(backendRules).filter((right) => right.includes(" secrets.")),
    ["get secrets.", "create secrets.", "patch secrets.", "delete secrets."],
  );
});
