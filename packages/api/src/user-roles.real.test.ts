import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  namespaces,
  roleBindings,
} from "@klutch/kube-core";
import { isAllowed, leaseCluster, namespaceObject, waitFor } from "@klutch/kube-testing";
import { konnectorManifests, userRoleManifests } from "./konnector-manifests.ts";
import { bindGroup, consumerNamespace } from "./names.ts";

const cluster = await leaseCluster({ name: "user-roles", controllerManager: true });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
const claims = { group: "example.org", resource: "databases" };
const changes = ["create", "update", "patch", "delete", "deletecollection"];
const verbs = ["get", "list", "watch", ...changes];

await client.create(namespaces, namespaceObject("team"));
for (const manifest of userRoleManifests("databases.example.org"))
  await client.create<DynamicObject>(clusterRoles, manifest);
await client.create(namespaces, namespaceObject(consumerNamespace));
const viewerRole = "klutch-bind:apiservicebindings.klutch.anynines.com:view";
for (const manifest of konnectorManifests({ image: "none" }))
  if (manifest.metadata.name === viewerRole) await client.create<DynamicObject>(clusterRoles, manifest);
for (const role of ["view", "edit", "admin"])
  await client.create<DynamicObject>(roleBindings, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace: "team", name: role },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: `${role}-person` }],
  });

const may = (user: string, verb: string, namespace = "team"): Promise<boolean> =>
  isAllowed(client, user, { verb, ...claims }, namespace);

test("a person who may edit or administer a namespace makes, changes and deletes claims there, and nowhere else", async () => {
  for (const user of ["edit-person", "admin-person"]) {
    // The controller aggregates one role after the other, so the verbs arrive one by one.
    for (const verb of verbs) await waitFor(`${user} to ${verb} claims`, () => may(user, verb));
    assert.ok(!(await may(user, "create", "default")));
  }
});

test("a person who may view a namespace reads claims there and changes none", async () => {
  await waitFor("view-person to read claims", () => may("view-person", "list"));
  for (const verb of changes) assert.ok(!(await may("view-person", verb)), verb);
});

test("people who may view all namespaces, or have the role in that of the konnector, see bindings there, change none and read no Secret", async () => {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
  const apiGroup = "rbac.authorization.k8s.io";
  const subject = (name: string): object => ({ apiGroup, kind: "User", name });
  await client.create<DynamicObject>(clusterRoleBindings, {
    ...rbac,
    kind: "ClusterRoleBinding",
    metadata: { name: "views-all" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "view" },
    subjects: [subject("views-all")],
  });
  await client.create<DynamicObject>(roleBindings, {
    ...rbac,
    kind: "RoleBinding",
    metadata: { namespace: consumerNamespace, name: "developers" },
    roleRef: { apiGroup, kind: "ClusterRole", name: viewerRole },
    subjects: [subject("developer")],
  });
  const bindings = { group: bindGroup, resource: "apiservicebindings" };
  for (const user of ["views-all", "developer"]) {
    const mayThere = (
      verb: string,
      of: { readonly group: string; readonly resource: string },
    ): Promise<boolean> => isAllowed(client, user, { verb, ...of }, consumerNamespace);
    for (const verb of ["get", "list", "watch"])
      await waitFor(`${user} to ${verb} bindings`, () => mayThere(verb, bindings));
    for (const verb of changes) assert.ok(!(await mayThere(verb, bindings)), `${user} ${verb}`);
    for (const verb of ["get", "list", "watch"])
      assert.ok(!(await mayThere(verb, { group: "", resource: "secrets" })), `${user} ${verb} secrets`);
  }
  const elsewhere = await isAllowed(client, "developer", { verb: "list", ...bindings }, "team");
  assert.ok(!elsewhere, "the role is bound in one namespace");
});
