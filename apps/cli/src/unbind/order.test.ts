import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiShape, blockedClaims, inOrder, shapeOf, type SurveyedClaim } from "./order.ts";

const shapes: readonly ApiShape[] = [
  { name: "backups.x", kind: "Backup", references: ["instanceRef"] },
  { name: "keyvalueinstances.x", kind: "KeyValueInstance", references: ["compositionRef"] },
  { name: "postgresqlinstances.x", kind: "PostgresqlInstance", references: ["compositionRef"] },
  { name: "restores.x", kind: "Restore", references: ["instanceRef", "backupRef"] },
  { name: "servicebindings.x", kind: "ServiceBinding", references: ["instanceRef"] },
  { name: "buckets.y", kind: "Bucket", references: [] },
];

const claim = (api: string, name: string, more: Partial<SurveyedClaim> = {}): SurveyedClaim => ({
  api,
  kind: shapes.find((shape) => shape.name === api)?.kind ?? "",
  namespace: "demo",
  name,
  isDeleting: false,
  fields: {},
  ...more,
});

test("users go before what they use, restores before backups, instances last; among equals, deletions that run come first", () => {
  assert.deepEqual(inOrder(shapes, new Set(["servicebindings.x", "postgresqlinstances.x"])), [
    "servicebindings.x",
    "buckets.y",
    "restores.x",
    "backups.x",
    "postgresqlinstances.x",
    "keyvalueinstances.x",
  ]);
});

test("APIs that use each other in a circle have an order, too", () => {
  const circle = [
    { name: "as.x", kind: "Left", references: ["rightRef"] },
    { name: "bs.x", kind: "Right", references: ["leftRef"] },
  ];
  assert.deepEqual(inOrder(circle, new Set(["bs.x"])), ["bs.x", "as.x"]);
});

test("a claim that is being deleted is blocked by living claims of its namespace that name it, and only of the type that they name", () => {
  const fields = { instanceRef: "orders", serviceInstanceType: "postgresql" };
  const claims = [
    claim("postgresqlinstances.x", "orders", { isDeleting: true }),
    claim("keyvalueinstances.x", "orders", { isDeleting: true }),
    claim("postgresqlinstances.x", "free", { isDeleting: true }),
    claim("servicebindings.x", "orders-app", { fields }),
    claim("servicebindings.x", "elsewhere", { fields, namespace: "other" }),
    claim("servicebindings.x", "going", { fields, isDeleting: true }),
    claim("backups.x", "any-type", { fields: { instanceRef: "free" } }),
  ];
  assert.deepEqual(blockedClaims(claims), [
    { claim: "postgresqlinstances.x demo/orders", users: ["servicebindings.x demo/orders-app"] },
    { claim: "postgresqlinstances.x demo/free", users: ["backups.x demo/any-type"] },
  ]);
});

test("references are read from the schemas of all versions", () => {
  const version = (name: string, properties: object): object => ({
    name,
    schema: { openAPIV3Schema: { properties: { spec: { properties } } } },
  });
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "restores.x" },
    spec: {
      names: { kind: "Restore" },
      versions: [version("v1", { instanceRef: {}, size: {} }), version("v2", { backupRef: {} })],
    },
  };
  assert.deepEqual(shapeOf(crd), {
    name: "restores.x",
    kind: "Restore",
    references: ["instanceRef", "backupRef"],
  });
});
