import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestNames } from "./nearest.ts";

const names = ["oidc:ann", "oidc:anna", "oidc:bob", "postgresqlinstances.anynines.com", "cluster-3nx4n9b7lc"];

test("the nearest names come first, and a part of a name finds it", () => {
  assert.deepEqual(nearestNames("oidc:amn", names), ["oidc:ann", "oidc:anna"]);
  assert.deepEqual(nearestNames("ANN", names), ["oidc:ann", "oidc:anna"]);
  assert.deepEqual(nearestNames("postgresqlinstances", names), ["postgresqlinstances.anynines.com"]);
});

test("a name that differs in case only is the one that was meant", () => {
  assert.deepEqual(nearestNames("OIDC:Ann", names), ["oidc:ann"]);
});

test("a word without anything near, an empty and an endless one find nothing", () => {
  assert.deepEqual(nearestNames("redis", names), []);
  assert.deepEqual(nearestNames("", names), []);
  assert.deepEqual(nearestNames("x".repeat(1_000_000), names), []);
  assert.deepEqual(nearestNames("a", []), []);
  assert.deepEqual(nearestNames("prod", [""]), []);
});
