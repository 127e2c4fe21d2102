import assert from "node:assert/strict";
import { test } from "node:test";
import { bindCrds, providerCrds } from "./crds.ts";
import { exportFromCrd } from "./export-snapshot.ts";
import * as resources from "./resources.ts";

test("the resource constants name the same paths, kinds and scopes as the CRDs", () => {
  for (const crd of [...bindCrds, ...providerCrds]) {
    const { group, names, scope, versions } = exportFromCrd(crd).spec;
    const found = Object.values(resources).find(
      (resource) => resource.group === group && resource.plural === names.plural,
    );
    assert.deepEqual(
      found,
      {
        group,
        version: versions[0]?.name,
        plural: names.plural,
        kind: names.kind,
        namespaced: scope === "Namespaced",
      },
      crd.metadata.name,
    );
  }
});
