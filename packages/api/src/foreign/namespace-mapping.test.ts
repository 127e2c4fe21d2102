import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseNamespaceMapping } from "./namespace-mapping.ts";
import { isDnsLabel } from "@klutch/kube-core";
import { mutationsOf } from "./testing/mutations.ts";

const good = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceNamespace",
  metadata: { namespace: "cluster-a", name: "team" },
  spec: {},
  status: { namespace: "cluster-a-team" },
};

test("an answered mapping names a namespace of each side", () => {
  assert.deepEqual(parseNamespaceMapping(good), {
    consumerNamespace: "team",
    providerNamespace: "cluster-a-team",
    isDeleting: false,
  });
});

test("a mapping that is not answered yet says nothing wrong", () => {
  for (const status of [undefined, null, {}, { namespace: "" }, { namespace: null }]) {
    assert.deepEqual(parseNamespaceMapping({ ...good, status }), {
      consumerNamespace: "team",
      isDeleting: false,
    });
  }
});

test("an answer that is no name of a namespace is not used, and why is said", () => {
  for (const namespace of ["a/b", "..", "A", "a.b", "a\n", "x".repeat(64), 7, ["a"], { a: 1 }]) {
    const { providerNamespace, problem } = parseNamespaceMapping({ ...good, status: { namespace } });
    assert.equal(providerNamespace, undefined);
    assert.match(problem ?? "", /does not hold valid names/);
  }
  const { consumerNamespace, problem } = parseNamespaceMapping({ ...good, metadata: { name: "../team" } });
  assert.equal(consumerNamespace, undefined);
  assert.match(problem ?? "", /does not hold valid names/);
});

test("a mapping that is being deleted says so, whatever its time of deletion looks like", () => {
  const metadata = { ...good.metadata, deletionTimestamp: "now" };
  assert.equal(parseNamespaceMapping({ ...good, metadata }).isDeleting, true);
});

test("whatever is put in the place of any field, the names are names of namespaces or there are none", () => {
  fc.assert(
    fc.property(mutationsOf(good), (object) => {
      const { consumerNamespace, providerNamespace, problem } = parseNamespaceMapping(object);
      if (consumerNamespace !== undefined) assert.ok(isDnsLabel(consumerNamespace));
      if (providerNamespace === undefined) return;
      assert.ok(isDnsLabel(providerNamespace));
      assert.ok(consumerNamespace !== undefined && problem === undefined);
    }),
    { numRuns: 3_000 },
  );
});
