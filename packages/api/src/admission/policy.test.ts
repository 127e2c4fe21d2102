import assert from "node:assert/strict";
import { test } from "node:test";
import { backendPolicyManifests } from "./backend.ts";
import { binderPolicyManifests } from "./binder.ts";
import { konnectorPolicyManifests } from "./konnector.ts";
import { providerPolicyManifests } from "./provider.ts";

test("no expression reads a variable by its type, which ends API servers before Kubernetes 1.36", () => {
  const policies = [
    ...backendPolicyManifests,
    ...binderPolicyManifests,
    ...konnectorPolicyManifests({ apis: ["widgets.example.org"], claims: [], secretTypes: [] }),
    ...providerPolicyManifests,
  ];
  const text = JSON.stringify(policies);
  assert.match(text, /dyn\(variables\)\.resource/);
  assert.doesNotMatch(text, /variables[.[]/);
});
