import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, Immutable, Lease, Role } from "./built-in-kinds.ts";

const lease: Lease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "leader" },
  spec: { holderIdentity: "one", leaseDurationSeconds: undefined },
};

test("a field that may be absent may be undefined, and then does not reach the wire", () => {
  assert.equal(JSON.stringify(lease.spec), '{"holderIdentity":"one"}');
});

test("nothing of a built-in object can be changed, at any depth", () => {
  const deployment: Deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { selector: {}, template: { spec: { containers: [{ name: "web" }] } } },
  };
  const change = (): void => {
    // @ts-expect-error A field is read only.
    if (lease.spec !== undefined) lease.spec.holderIdentity = "two";
    const [container] = deployment.spec?.template.spec?.containers ?? [];
    // @ts-expect-error An item of a list is read only.
    if (container !== undefined) container.name = "other";
  };
  assert.equal(typeof change, "function");
});

test("a field that is required stays so, and rules may be null", () => {
  type Inner = Immutable<{ name: string; note?: string }>;
  const inner: Inner = { name: "a", note: undefined };
  // @ts-expect-error The name is required.
  const without: Inner = { note: "b" };
  const role: Role = { apiVersion: "v1", kind: "Role", metadata: {}, rules: null };
  assert.deepEqual([inner.name, without.note, role.rules], ["a", "b", null]);
});
