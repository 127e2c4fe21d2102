import assert from "node:assert/strict";
import { test } from "node:test";
import { providerUidAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { assertPinned, formatIdentity, pinProblem } from "./identity.ts";

const identity = { namespaceUid: "n-1", kubeSystemUid: "k-1" };
const bindingOf = (pinned?: string): DynamicObject => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: { name: "a", annotations: pinned === undefined ? {} : { [providerUidAnnotation]: pinned } },
});
const own = bindingOf(formatIdentity(identity));
const foreign = bindingOf("namespace=n-2,kube-system=k-2");

test("a binding that was made with another control plane is told from one of this one and from one that is new", () => {
  assert.equal(pinProblem(own, identity), undefined);
  assert.equal(pinProblem(bindingOf(), identity), undefined);
  assert.match(pinProblem(foreign, identity)?.message ?? "", /namespace has UID n-1, .* made with n-2/);
  // The same namespace name in another cluster, and an account that may not read kube-system.
  assert.match(
    pinProblem(bindingOf("namespace=n-1,kube-system=k-2"), identity)?.message ?? "",
    /kube-system/,
  );
  const unread = { ...identity, kubeSystemUid: undefined };
  assert.equal(pinProblem(bindingOf("namespace=n-1,kube-system=k-2"), unread), undefined);
  assert.ok(pinProblem(foreign, unread) !== undefined);
});

test("the control plane is refused as a whole only when none of its bindings was made with it", () => {
  assert.doesNotThrow(() => assertPinned([], identity));
  assert.doesNotThrow(() => assertPinned([foreign, own], identity));
  assert.doesNotThrow(() => assertPinned([own, foreign], identity));
  assert.throws(() => assertPinned([foreign, bindingOf("namespace=n-3")], identity), /made with n-2/);
});
