import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindingCrd } from "@klutch/api";
import { recordAt, recordsAt } from "@klutch/kube-core";
import { faultsOf } from "./binding-kind.ts";

const shipped = recordAt(apiServiceBindingCrd.spec);
/** The shipped spec with another schema. */
function withSchema(change: (text: string) => string): unknown {
  const versions: unknown = JSON.parse(change(JSON.stringify(recordsAt(shipped, "versions"))));
  return { ...shipped, versions };
}

test("the shipped definition has no fault, and neither have other descriptions and fields of another release", () => {
  assert.deepEqual(faultsOf(shipped), []);
  assert.deepEqual(faultsOf({ ...shipped, conversion: { strategy: "None" } }), []);
  assert.deepEqual(faultsOf(withSchema((text) => text.replaceAll('"default":true', '"x":true'))), []);
});

test("a definition that has bindings say more or less than was written has a fault", () => {
  assert.match(faultsOf({ ...shipped, conversion: { strategy: "Webhook" } }).join(), /spec\.conversion/);
  const forged = withSchema((text) =>
    text.replace('"permissionClaims":{', '"permissionClaims":{"default":[{"state":"Accepted"}],'),
  );
  assert.match(faultsOf(forged).join(), /default that no release has \(\.schema.*permissionClaims\)/);
  const accepting = withSchema((text) => text.replace('"state":{', '"state":{"default":"Accepted",'));
  assert.match(faultsOf(accepting).join(), /default that no release has/);
  const wider = withSchema((text) => text.replace('"default":["*"]', '"default":["a"]'));
  assert.match(faultsOf(wider).join(), /default that no release has/);
  assert.match(
    faultsOf(withSchema((text) => text.replaceAll('"permissionClaims"', '"others"'))).join(),
    /drops the field spec\.permissionClaims/,
  );
});
