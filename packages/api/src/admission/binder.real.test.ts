import { after, test } from "node:test";
import { isForbidden, type KubeClient } from "@klutch/kube";
import {
  clusterRoles,
  configMaps,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import {
  applyPolicies,
  crdObject,
  installRights,
  leaseCluster,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { binderPolicyManifests } from "./binder.ts";
import { refused } from "./testing/refused.ts";

const cluster = await leaseCluster({ name: "binder-policy" });
after(() => cluster[Symbol.asyncDispose]());
const admin = cluster.client;
/** Acts as the accounts of two app clusters, with every right of RBAC. */
const accountOf = (namespace: string): KubeClient =>
  unlimitedClient(cluster, { namespace, name: "klutch-binder" });
const tenant = accountOf("tenant");
const other = accountOf("tenant2");
after(() => tenant[Symbol.asyncDispose]());
after(() => other[Symbol.asyncDispose]());

const type = (group: string, plural: string, kind: string, namespaced: boolean): ResourceType => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced,
});
const widgets = type("example.org", "widgets", "Widget", true);
const globals = type("example.org", "globals", "Global", false);
const gadgets = type("example.org", "gadgets", "Gadget", true);
const spec = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
for (const one of [widgets, globals, gadgets])
  await admin.create<KubeObject>(customResourceDefinitions, crdObject(one, { properties: { spec } }));
for (const [name, annotations] of [
  ["tenant", {}],
  ["tenant-team", { "klutch.anynines.com/api-service-namespace": "tenant/team" }],
  // Its name begins like the tenant's, and its owner's does.
  ["tenant2-team", { "klutch.anynines.com/api-service-namespace": "tenant2/team" }],
] as const)
  await admin.create(namespaces, objectOfType(namespaces, { name, annotations }));
const account = { namespace: "klutch-backend", name: "klutch-backend" };
const offers = [
  { apiGroups: ["example.org"], resources: ["widgets", "globals"], verbs: ["offer"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["offer"] },
];
await installRights(admin, [
  roleObject({ name: "offers" }, offers),
  roleBindingObject({ name: "offers" }, { kind: "ClusterRole", name: "offers" }, account),
]);
await applyPolicies(admin, binderPolicyManifests);
await waitFor("the policy to be in force", () =>
  tenant
    .create(secrets, secretObject("default", "probe", {}), { dryRun: true })
    .then(() => false, isForbidden),
);

const team = "tenant-team";
let made = 0;
const create = (
  of: ResourceType,
  metadata: DynamicObject["metadata"],
  fields?: object,
): Promise<DynamicObject> =>
  tenant.create<DynamicObject>(of, objectOfType(of, { name: `made-${made++}`, ...metadata }, fields));

test("an app cluster writes kinds that operators offer in its own namespaces only", async () => {
  await create(widgets, { namespace: team });
  await create(widgets, { namespace: "tenant" });
  await create(secrets, { namespace: team });
  const notOffered = /may write only kinds that the control plane offers/;
  await refused(create(gadgets, { namespace: team }), notOffered);
  await refused(create(configMaps, { namespace: team }), notOffered);
  const elsewhere = /may write only in its own namespaces/;
  for (const namespace of ["tenant2-team", "default", "kube-system"]) {
    await refused(create(widgets, { namespace }), elsewhere);
    await refused(create(secrets, { namespace }), elsewhere);
  }
  await refused(create(secrets, { namespace: "tenant" }), elsewhere);
  await refused(create(clusterRoles, {}), /only kinds that it bound/);
});

test("an operator who takes a kind off the list stops its writes", async () => {
  await admin.mergePatch(clusterRoles, { name: "offers" }, { rules: [offers[0]] });
  await waitFor("the list to be in force", () =>
    create(secrets, { namespace: team }).then(() => false, isForbidden),
  );
  await admin.mergePatch(clusterRoles, { name: "offers" }, { rules: offers });
  await waitFor("the list to be whole again", () =>
    create(secrets, { namespace: team }).then(
      () => true,
      () => false,
    ),
  );
});

test("a cluster-scoped object of one app cluster is not another one's", async () => {
  const annotations = { "klutch.anynines.com/cluster-namespace": "tenant" };
  await create(globals, { name: "tenant-one", annotations });
  const reason = /may write no object of another one/;
  const ref = { name: "tenant-one" };
  await refused(other.mergePatch(globals, ref, { spec: { size: 2 } }), reason);
  await refused(other.mergePatch(globals, ref, { metadata: { annotations: null } }), reason);
  await refused(other.delete(globals, ref), reason);
  await refused(other.create(globals, objectOfType(globals, { name: "forged", annotations })), reason);
  await tenant.mergePatch(globals, ref, { spec: { size: 2 } });
  await tenant.delete(globals, ref);
});

test("keys and references of Crossplane are neither set nor removed, and what Crossplane set travels on", async () => {
  const reason = /of Crossplane|Crossplane records/;
  const keys = ["crossplane.io/external-name", "crossplane.io/paused", "kubernetes.m.crossplane.io/x"];
  for (const key of keys)
    for (const field of ["labels", "annotations"])
      await refused(create(widgets, { namespace: team, [field]: { [key]: "x" } }), reason);
  for (const references of [
    { resourceRef: { name: "x" } },
    { claimRef: { name: "x" } },
    { crossplane: { resourceRefs: [{ name: "x" }] } },
  ])
    await refused(create(widgets, { namespace: team }, { spec: references }), reason);
  const ref = { namespace: team, name: "known" };
  const annotations = { "crossplane.io/external-name": "real", "crossplane.io/paused": "true" };
  await admin.create(
    widgets,
    objectOfType(widgets, { ...ref, annotations }, { spec: { resourceRef: { name: "real" } } }),
  );
  await tenant.mergePatch(widgets, ref, { spec: { size: 2, compositionRef: { name: "small" } } });
  await refused(
    tenant.mergePatch(widgets, ref, { metadata: { annotations: { "crossplane.io/paused": null } } }),
    reason,
  );
  await refused(
    tenant.mergePatch(widgets, ref, { metadata: { annotations: { "crossplane.io/external-name": "x" } } }),
    reason,
  );
  for (const resourceRef of [{ name: "x" }, null])
    await refused(tenant.mergePatch(widgets, ref, { spec: { resourceRef } }), reason);
  // Agents apply their own fields, so those of Crossplane stay.
  const applied = objectOfType(widgets, ref, { spec: { size: 3 } });
  await tenant.apply(widgets, applied, { fieldManager: "konnector", force: true });
  await tenant.delete(widgets, ref);
});

test("finalizers of the control plane stay until its controllers take them off, also while an object is being deleted", async () => {
  const ref = { namespace: team, name: "finalized" };
  const finalizers = ["finalizer.apiextensions.crossplane.io", "example.org/stay"];
  await admin.create(widgets, objectOfType(widgets, { ...ref, finalizers }));
  const reason = /may not remove finalizers/;
  const patch = (value: readonly string[] | null): Promise<unknown> =>
    tenant.mergePatch(widgets, ref, { metadata: { finalizers: value } });
  await refused(patch(null), reason);
  await tenant.delete(widgets, ref);
  for (const value of [null, [], ["example.org/stay"]]) await refused(patch(value), reason);
  await tenant.mergePatch(widgets, ref, { spec: { size: 2 } });
  await admin.mergePatch(widgets, ref, { metadata: { finalizers: null } });
});

test("a Secret on which the control plane would act is refused, by type and by key", async () => {
  for (const type of [
    "Opaque",
    "connection.crossplane.io/v1alpha1",
    "servicebinding.io/x",
    "example.org/odd",
  ])
    await create(secrets, { namespace: team }, { type });
  const annotations = { "kubernetes.io/service-account.name": "default" };
  for (const type of [
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
  ])
    await refused(create(secrets, { namespace: team, annotations }, { type }), /Secrets of this type/);
  const reason = /on which tools of the control plane would act/;
  for (const key of [
    "argocd.argoproj.io/secret-type",
    "replicator.v1.mittwald.de/replicate-to",
    "reflector.v1.k8s.emberstack.com/reflection-allowed",
    "cert-manager.io/allow-direct-injection",
    "grafana_dashboard",
  ])
    await refused(create(secrets, { namespace: team, labels: { [key]: "x" } }), reason);
  await refused(create(secrets, { namespace: team, labels: { owner: "helm" } }), reason);
  await create(secrets, { namespace: team, labels: { owner: "team-a", "helm.sh/chart": "y" } });
});

test("everybody else is not touched by it", async () => {
  await admin.create(secrets, secretObject("default", "of-an-admin", {}));
});
