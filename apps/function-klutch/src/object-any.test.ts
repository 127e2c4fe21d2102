import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "@klutch/crossplane";
import { valueAt } from "@klutch/kube-core";
import fc from "fast-check";
import { compose } from "./compose.ts";
import { bindingSpec, instanceSpec, living, manifestOf, objectOf, request } from "./testing/objects.ts";

const kinds = ["instance", "binding", "backup", "restore"] as const;
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom("a", "team", "kube-system", "__proto__"),
);
const spec = fc.record(
  {
    service: fc.oneof(fc.constant("a9s-postgresql13"), anything),
    plan: fc.oneof(fc.constant("postgresql-single-nano"), anything),
    expose: anything,
    parameters: anything,
    instanceRef: anything,
    backupRef: anything,
    serviceInstanceType: fc.oneof(fc.constant("postgresql"), anything),
    namespace: anything,
    name: anything,
  },
  { requiredKeys: [] },
);

test("whatever a claim says, its object has the claim's name and namespace and the recipe's kind", () => {
  let composed = 0;
  fc.assert(
    fc.property(fc.constantFrom(...kinds), spec, (kind, claimed) => {
      const response = compose(request(kind, claimed));
      if (response.results?.some(({ severity }) => severity === "fatal") === true) {
        assert.deepEqual(response.resources, {});
        return;
      }
      composed++;
      const manifest = manifestOf(response);
      assert.deepEqual(valueAt(manifest, "metadata"), { name: "db", namespace: "team" });
      const wanted = manifestOf(compose(request(kind, kind === "instance" ? instanceSpec : bindingSpec)));
      for (const field of ["apiVersion", "kind"])
        assert.equal(valueAt(manifest, field), valueAt(wanted, field));
    }),
    { numRuns: 300 },
  );
  assert.ok(composed > 60, `only ${composed} were composed`);
});

test("never is another kind composed over a composed resource that exists", () => {
  const specs = { instance: instanceSpec, binding: bindingSpec, backup: bindingSpec, restore: bindingSpec };
  const others: readonly Json[] = [
    { apiVersion: "dataservices.anynines.com/v1", kind: "ServiceInstance" },
    { apiVersion: "v1", kind: "ConfigMap" },
    { apiVersion: "kubernetes.crossplane.io/v1alpha2", kind: "Object" },
    { apiVersion: "kubernetes.m.crossplane.io/v1alpha1", kind: "Object" },
  ];
  const existing = fc.oneof(
    fc
      .constantFrom(...kinds)
      .map((kind) => ({ kind, resource: objectOf(compose(request(kind, specs[kind]))) })),
    fc.constantFrom(...others).map((resource) => ({ kind: "none", resource })),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      existing,
      fc.constantFrom("managed", "a8s-postgresql"),
      (kind, found, name) => {
        const asked = request(kind, specs[kind]);
        const isPlain = name !== "managed" && found.resource["kind"] === "ConfigMap";
        const observed = { [name]: { resource: found.resource, connection: {} } };
        const { resources, results = [] } = compose({ ...asked, observed });
        if (found.kind === kind) assert.deepEqual(Object.keys(resources), [name]);
        else if (isPlain) assert.deepEqual(Object.keys(resources), ["managed"]);
        else {
          assert.deepEqual(resources, {});
          assert.deepEqual(
            results.map(({ severity }) => severity),
            ["warning", "fatal"],
          );
        }
      },
    ),
  );
});

test("an operator that lies about names, sizes and depth shows a bounded part of its own object only", () => {
  let deep: Json = { a: 1 };
  for (let level = 0; level < 40; level++) deep = { a: deep };
  const conditions = Array.from({ length: 500 }, (_, index) => ({
    type: `T${index}`,
    message: "x".repeat(5_000),
    deep,
  }));
  const status = { backupID: `a\n\u001b[31m${"b".repeat(5_000)}`, conditions };
  const told = compose(
    request("backup", bindingSpec, living("backup", bindingSpec, { status })),
  ).compositeStatus;
  const text = JSON.stringify(told);
  assert.ok(text.length < 60_000, String(text.length));
  assert.doesNotMatch(text, /\\n|\\u001b/);
  for (const made of [
    { metadata: { name: "other", namespace: "team" }, status: { backupID: "7" } },
    { metadata: { name: "db", namespace: "kube-system" }, status: { backupID: "7" } },
    { kind: "Secret", status: { backupID: "7" } },
  ]) {
    const { compositeStatus } = compose(request("backup", bindingSpec, living("backup", bindingSpec, made)));
    assert.deepEqual(compositeStatus, { managed: {} });
  }
});
