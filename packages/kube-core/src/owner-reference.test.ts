import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectMeta, OwnerReference } from "./object.ts";
import {
  controllerReference,
  isControlledBy,
  isOwnedBy,
  isOwnerOfKind,
  ownerReference,
} from "./owner-reference.ts";
import { deployments, namespaces } from "./resources.ts";

const owned = (...ownerReferences: readonly OwnerReference[]): { readonly metadata: ObjectMeta } => ({
  metadata: { name: "a", ownerReferences },
});
const namespace = ownerReference(namespaces, { name: "team", uid: "u1" });
const controller = controllerReference({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "team", uid: "u2" },
});

test("an owner is named with the API version of its type", () => {
  assert.deepEqual(namespace, { apiVersion: "v1", kind: "Namespace", name: "team", uid: "u1" });
  assert.equal(ownerReference(deployments, { name: "web", uid: "u2" }).apiVersion, "apps/v1");
});

test("a controller blocks its own deletion in the foreground", () => {
  assert.deepEqual(controller, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: "web",
    uid: "u2",
    controller: true,
    blockOwnerDeletion: true,
  });
});

test("an object is owned by each of its owners, and controlled by one", () => {
  const object = owned(namespace, controller);
  assert.deepEqual(
    ["u1", "u2", "u3"].map((uid) => [isOwnedBy(object, uid), isControlledBy(object, uid)]),
    [
      [true, false],
      [true, true],
      [false, false],
    ],
  );
});

test("an object that is not there has no owner, and an owner without a UID owns nothing", () => {
  assert.ok(!isOwnedBy(undefined, "u1"));
  assert.ok(!isControlledBy(undefined, "u1"));
  assert.ok(!isOwnedBy({ metadata: {} }, "u1"));
  assert.ok(!isOwnedBy(owned(namespace), undefined));
  assert.ok(!isControlledBy({ metadata: {} }, undefined));
});

test("an owner's kind is known by group and kind, not by version", () => {
  assert.ok(isOwnerOfKind(controller, { group: "apps", kind: "Deployment" }));
  assert.ok(isOwnerOfKind({ ...controller, apiVersion: "apps/v2beta1" }, deployments));
  assert.ok(!isOwnerOfKind({ ...controller, apiVersion: "apps.example.org/v1" }, deployments));
  assert.ok(!isOwnerOfKind(controller, { group: "apps", kind: "StatefulSet" }));
  assert.ok(isOwnerOfKind(namespace, namespaces));
  assert.ok(!isOwnerOfKind({ ...namespace, apiVersion: "example.org/v1" }, namespaces));
});
