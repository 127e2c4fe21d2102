/** The rehearsal for a control plane with backend and provider in Go, on a real API server by an account that may only read. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExports,
  appClusterBindingAnnotation,
  appClusterBindings,
  bindCrds,
  identityAnnotation,
  providerCrds,
  serviceInstances,
  storeConfigs,
} from "@klutch/api";
import {
  clusterRoleBindings,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import {
  crdObject,
  installKinds,
  namespaceObject,
  roleBindingObject,
  secretObject,
} from "@klutch/kube-testing";
import { startAuditedCluster, verbsOf } from "./testing/audited-cluster.ts";
import { deploy, tenant } from "./testing/objects.ts";

const audited = await startAuditedCluster();
after(() => audited[Symbol.asyncDispose]());
const { client } = audited.cluster;
const tenantName = "cluster-x7k2p";
const create = (type: ResourceType, object: DynamicObject): Promise<KubeObject> =>
  client.create(type, object);
const oldTemplates: ResourceType = {
  group: "bind.anynines.com",
  version: "v1alpha1",
  plural: "apiserviceexporttemplates",
  kind: "APIServiceExportTemplate",
  namespaced: true,
};

await installKinds(client, [...bindCrds, ...providerCrds, crdObject(oldTemplates)]);
await client.create(namespaces, namespaceObject("bind"));
await deploy(
  client,
  { namespace: "bind", name: "anynines-backend" },
  "public.example/w5n9a2g2/klutch/example-backend:v1.5.0",
);
await tenant(
  client,
  tenantName,
  { [identityAnnotation]: "CiQwOGE4#a1b2c3" },
  {
    konnectorVersion: "v1.5.0",
    conditions: [
      {
        type: "Ready",
        status: "False",
        severity: "Warning",
        reason: "HeartbeatTimeDrift",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  },
);
const token = secretObject(tenantName, "klutch-binder", { token: "never-ending" });
await create(secrets, {
  ...token,
  type: "kubernetes.io/service-account-token",
  metadata: {
    ...token.metadata,
    annotations: { "kubernetes.io/service-account.name": "klutch-binder" },
  },
});
await client.create(
  clusterRoleBindings,
  roleBindingObject(
    { name: `klutch-binder-${tenantName}` },
    { kind: "ClusterRole", name: `klutch-binder-${tenantName}` },
    { namespace: tenantName, name: "klutch-binder" },
  ),
);
await create(apiServiceExports, {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceExport",
  metadata: { namespace: tenantName, name: "postgresqlinstances.anynines.com" },
  spec: {
    group: "anynines.com",
    names: { kind: "PostgresqlInstance", plural: "postgresqlinstances" },
    scope: "Namespaced",
    informerScope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    permissionClaims: [{ group: "", resource: "secrets", version: "v1" }],
  },
});
const forProvider = {
  acceptsIncomplete: true,
  serviceName: "a9s-postgresql",
  planName: "single-nano",
  organizationGuid: "o",
  spaceGuid: "s",
};
for (const [name, annotations, more] of [
  ["healthy", {}, {}],
  ["frozen", { "crossplane.io/external-create-pending": "2026-10-01T10:00:00Z" }, {}],
  [
    "created",
    {
      "crossplane.io/external-create-pending": "2026-10-01T10:00:00Z",
      "crossplane.io/external-create-succeeded": "2026-10-01T10:00:01Z",
    },
    { managementPolicies: ["Observe"] },
  ],
] as const) {
  await create(serviceInstances, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name, annotations },
    spec: { providerConfigRef: { name: "postgresql-service-broker" }, forProvider, ...more },
  });
}
await create(storeConfigs, {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "StoreConfig",
  metadata: { name: "vault" },
  spec: { defaultScope: "crossplane-system" },
});
await create(appClusterBindings, {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "AppClusterBinding",
  metadata: { namespace: "default", name: "edge" },
  spec: { kubeconfigSecretRef: { namespace: "default", name: "edge", key: "kubeconfig" } },
});
await client.mergePatch(
  appClusterBindings,
  { namespace: "default", name: "edge" },
  { status: { conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }] } },
  { subresource: "status" },
);
await client.create(namespaces, namespaceObject("klutch-bind-default-edge"));

test("each part of an installation in Go has an outcome, and what would be refused stands against it", async () => {
  const run = await audited.check();
  assert.equal(run.code, 1, run.stdout());
  for (const row of [
    /Deployment bind\/anynines-backend +left +\S+example-backend:v1\.5\.0: scale it to 0 before the new backend starts/,
    /Namespace cluster-x7k2p +taken over +the cluster namespace stays, .*delete Secret klutch-binder after the next login/,
    /ClusterRoleBinding klutch-binder-cluster-x7k2p +left +rights of this app cluster in the whole control plane/,
    /APIServiceExport cluster-x7k2p\/postgresqlinstances\S+ +taken over +.*1 permission claim/,
    /objects of serviceinstances\S+ +taken over +3, with the ids/,
    /ServiceInstance frozen +taken over +its create at 2026-10-01T10:00:00Z was never answered/,
    /ServiceInstance created +taken over +managementPolicies Observe had no effect/,
    /StoreConfig vault +left/,
    /CRD apiserviceexporttemplates\.bind\.anynines\.com +left/,
  ])
    assert.match(run.stdout(), row);
  assert.doesNotMatch(run.stdout(), /ServiceInstance (created|healthy) .*never answered/);
  assert.doesNotMatch(run.stdout(), /bmV2ZXItZW5kaW5n|never-ending/);
  assert.match(
    run.stdout(),
    /Namespace klutch-bind-default-edge +metadata\.annotations\[klutch\S+appclusterbinding\] +missing +default\/edge/,
  );
  assert.match(run.stdout(), /Deployment bind\/anynines-backend +image .*--accept-take-over/);
  assert.match(run.stderr(), /\b2 obstacles to the upgrade\b/);
});

test("once the take-over is wanted and the root namespace is marked, nothing stands against it", async () => {
  const annotations = { [appClusterBindingAnnotation]: "default/edge" };
  await client.mergePatch(namespaces, { name: "klutch-bind-default-edge" }, { metadata: { annotations } });
  const run = await audited.check(["--accept-take-over"]);
  assert.equal(run.code, 0, run.stdout());
  assert.match(run.stdout(), /Namespace cluster-x7k2p +taken over/);
});

test("only GET and LIST were sent, and no Secret was asked for", async () => {
  const requests = await audited.requests();
  assert.deepEqual(verbsOf(requests), ["get", "list"]);
  assert.ok(!requests.some(({ resource }) => resource === "secrets"));
});
