import assert from "node:assert/strict";
import { test } from "node:test";
import { identityAnnotation, serviceNamespaceAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { otherTenants, ownNamespaces } from "./tenants.ts";

const tenant = { namespace: "cluster-a", namespaceUid: "a" };

function namespace(name: string, annotations: Readonly<Record<string, string>> = {}): DynamicObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, uid: `uid-of-${name}`, annotations } };
}
const serviceOf = (owner: string): Readonly<Record<string, string>> => ({
  [serviceNamespaceAnnotation]: owner,
});
function mapping(name: string, mapped?: string): DynamicObject {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenant.namespace, name },
    status: mapped === undefined ? {} : { namespace: mapped },
  };
}

test("a mapped namespace is the tenant's on both sides, one that waits for its mapping on neither", () => {
  const mappings = [mapping("app", "cluster-a-app"), mapping("waiting")];
  const all = [namespace("cluster-a-app", serviceOf("cluster-a/app"))];
  assert.deepEqual(ownNamespaces(mappings, all, tenant), { consumer: ["app"], provider: ["cluster-a-app"] });
});

test("a second namespace of the provider with the tenant's mark is looked at, too", () => {
  const all = [namespace("cluster-a-app"), namespace("stray", serviceOf("cluster-a/app"))];
  const own = ownNamespaces([mapping("app", "cluster-a-app")], all, tenant);
  assert.deepEqual(own, { consumer: ["app"], provider: ["cluster-a-app", "stray"] });
});

test("a tenant whose name begins alike has namespaces of its own", () => {
  const all = [namespace("other", serviceOf("cluster-ab/app")), namespace("cluster-a-by-name-only")];
  assert.deepEqual(ownNamespaces([], all, tenant), { consumer: [], provider: [] });
});

test("other tenants are namespaces with an identity and owners of service namespaces, never this one", () => {
  const all = [
    namespace("cluster-a", { [identityAnnotation]: "me#abc" }),
    namespace("cluster-b", { [identityAnnotation]: "you#abc" }),
    namespace("cluster-c"),
    namespace("cluster-c-app", serviceOf("cluster-c/app")),
    namespace("cluster-a-app", serviceOf("cluster-a/app")),
    namespace("kube-system"),
  ];
  assert.deepEqual(otherTenants(all, tenant), [
    { namespace: "cluster-b", namespaceUid: "uid-of-cluster-b" },
    { namespace: "cluster-c", namespaceUid: "uid-of-cluster-c" },
  ]);
});
