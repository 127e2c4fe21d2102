import assert from "node:assert/strict";
import { test } from "node:test";
import { operatorNamespaceRules, operatorRules } from "./manifests.ts";

test("the operator reads Secrets by name only, changes no kinds or rights, and has no wildcard", () => {
  const rights = [...operatorRules, ...operatorNamespaceRules].flatMap(
    ({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((of) => verbs.map((verb) => `${verb} ${of}.${group}`))),
  );
  assert.ok(rights.length > 0);
  for (const right of rights) {
    assert.ok(!right.includes("*"), right);
    assert.doesNotMatch(right, /^(?:list|watch) secrets|customresourcedefinitions|roles|escalate|bind /);
  }
});
