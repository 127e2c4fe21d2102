import assert from "node:assert/strict";
import { test } from "node:test";
import { maxLabelLength } from "@klutch/kube-core";
import fc from "fast-check";
import { base62Hash } from "./hash.ts";
import {
  bindingRoleName,
  clusterIdOf,
  crdNameOf,
  prefixedName,
  readServiceNamespaceOwner,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "./naming.ts";

const label = fc.oneof(
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/),
  fc.stringMatching(/^[a-z0-9][-a-z0-9]{45,61}[a-z0-9]$/),
);

test("names follow the wire contract", () => {
  assert.equal(crdNameOf({ resource: "databases", group: "example.org" }), "databases.example.org");
  assert.equal(crdNameOf({ resource: "secrets", group: "" }), "secrets");
  assert.equal(crdNameOf({ resource: "secrets" }), "secrets");
  assert.equal(serviceNamespaceName("cluster-x7k2p", "team-a"), "cluster-x7k2p-team-a");
  assert.equal(serviceNamespaceOwner("cluster-x7k2p", "team-a"), "cluster-x7k2p/team-a");
  assert.equal(prefixedName("cluster-x7k2p", "orders"), "cluster-x7k2p-orders");
  assert.equal(bindingRoleName("databases.example.org"), "klutch-bind-konnector:databases.example.org");
});

test("an identity hash is SHA-224 in base 62, digits before small before large letters", () => {
  assert.equal(base62Hash("klutch"), "27Zd9XOqAoC43WenzEMDTQaK4GDbrDKjhPjxi8");
  assert.equal(clusterIdOf("klutch"), "27Zd9X");
});

test("a service namespace for a long name is a valid, readable label that does not change", () => {
  fc.assert(
    fc.property(label, (consumer) => {
      const name = serviceNamespaceName("cluster-x7k2p", consumer);
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      assert.ok(name.length <= maxLabelLength);
      assert.ok(name.startsWith("cluster-x7k2p-"));
      assert.equal(name, serviceNamespaceName("cluster-x7k2p", consumer));
    }),
  );
});

test("whom a service namespace belongs to is known by a value that two tenants cannot share", () => {
  const tenants = [
    ["cluster-a", "b-c"],
    ["cluster-a-b", "c"],
  ] as const;
  const [first, second] = tenants.map(([cluster, consumer]) => serviceNamespaceOwner(cluster, consumer));
  assert.notEqual(first, second);
});

test("the owner of a service namespace is read as it was written, whatever the names", () => {
  fc.assert(
    fc.property(label, label, (clusterNamespace, consumerNamespace) => {
      const owner = serviceNamespaceOwner(clusterNamespace, consumerNamespace);
      assert.deepEqual(readServiceNamespaceOwner(owner), { clusterNamespace, consumerNamespace });
    }),
  );
});

test("an owner that is not two names of namespaces belongs to no tenant", () => {
  for (const owner of [
    undefined,
    "",
    "/",
    "cluster-a",
    "cluster-a/",
    "/team",
    "cluster-a/team/",
    "cluster-a/team/more",
    "cluster-a//team",
    " cluster-a/team",
    "cluster-a/team\n",
    "Cluster-A/team",
    "cluster-a/../kube-system",
    "cluster_a/team",
    `cluster-a/${"x".repeat(64)}`,
  ])
    assert.equal(readServiceNamespaceOwner(owner), undefined, JSON.stringify(owner));
});
