import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isInvalid } from "@klutch/kube";
import {
  type Condition,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isTrue,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { bindCrds, providerCrds } from "./crds.ts";
import * as resources from "./resources.ts";

const crdType = customResourceDefinitions;

const cluster = await leaseCluster({ name: "crds" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });

test("a real API server establishes every CRD", async () => {
  const crds = [...bindCrds, ...providerCrds];
  for (const crd of crds) await client.create<KubeObject>(crdType, crd);
  for (const { metadata } of crds) {
    await waitFor(`${metadata.name} to be established`, async () => {
      const { status } = await client.get<WithConditions>(crdType, { name: metadata.name });
      const { conditions = [] } = status ?? {};
      assert.equal(findCondition(conditions, "NonStructuralSchema"), undefined);
      return isTrue(conditions, "Established");
    });
  }
});

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

const object = (type: ResourceType, name: string, spec: unknown): DynamicObject => ({
  apiVersion: `${type.group}/${type.version}`,
  kind: type.kind,
  metadata: { name, ...(type.namespaced ? { namespace: "a" } : {}) },
  spec,
});

/** The first requests to fresh CRDs may still be answered with 404. */
async function create(type: ResourceType, value: DynamicObject): Promise<DynamicObject> {
  await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
  return client.create(type, value);
}

const kubeconfigSecretRef = { name: "s", key: "kubeconfig", namespace: "a" };

test("defaults of permission claims and request phases are filled in by the server", async () => {
  const binding = await create(
    resources.apiServiceBindings,
    object(resources.apiServiceBindings, "b.example.org", {
      kubeconfigSecretRef,
      permissionClaims: [{ resource: "secrets", version: "v1", state: "Accepted" }],
    }),
  );
  assert.deepEqual(binding.spec, {
    kubeconfigSecretRef,
    permissionClaims: [
      {
        group: "",
        resource: "secrets",
        version: "v1",
        state: "Accepted",
        selector: { names: ["*"], namespaces: ["*"] },
        read: {},
        onConflict: { recreateWhenConsumerSideDeleted: true },
      },
    ],
  });
  const type = resources.apiServiceExportRequests;
  const request = await create(
    type,
    object(type, "r", { resources: [{ resource: "dbs", group: "example.org" }] }),
  );
  assert.deepEqual(request.status, { phase: "Pending" });
});

test("a namespaced managed resource names a ClusterProviderConfig by default, and has none of the fields of the cluster-scoped kind", async () => {
  const type = resources.namespacedBackups;
  const asked = {
    forProvider: { instanceName: "i" },
    deletionPolicy: "Orphan",
    writeConnectionSecretToRef: { name: "s", namespace: "b" },
  };
  const { spec } = await create(type, object(type, "b", asked));
  assert.deepEqual(spec, {
    forProvider: { instanceName: "i" },
    managementPolicies: ["*"],
    providerConfigRef: { kind: "ClusterProviderConfig", name: "default" },
    writeConnectionSecretToRef: { name: "s" },
  });
  const named = { forProvider: { instanceName: "i" }, providerConfigRef: { name: "p" } };
  const { spec: filled } = await create(type, object(type, "c", named));
  assert.deepEqual(filled, {
    ...named,
    managementPolicies: ["*"],
    providerConfigRef: { kind: "ClusterProviderConfig", name: "p" },
  });
});

const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } };
const exported = (spec: object): object => ({
  group: "example.org",
  names: { kind: "Db", plural: "dbs" },
  scope: "Namespaced",
  informerScope: "Namespaced",
  versions: [version],
  ...spec,
});
const refusals: readonly (readonly [string, ResourceType, string, unknown, RegExp])[] = [
  [
    "a ClusterBinding not called cluster",
    resources.clusterBindings,
    "other",
    { kubeconfigSecretRef: { name: "s", key: "kubeconfig" }, providerPrettyName: "p" },
    /name must be cluster/,
  ],
  ["an export with a wrong name", resources.apiServiceExports, "wrong", exported({}), /<plural>\.<group>/],
  [
    "a cluster-scoped export with namespaced informers",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ scope: "Cluster", clusterScopedIsolation: "None" }),
    /informerScope must be Cluster/,
  ],
  [
    "a cluster-scoped export without isolation",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ scope: "Cluster", informerScope: "Cluster" }),
    /clusterScopedIsolation must be set/,
  ],
  [
    "a namespaced export with isolation",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ clusterScopedIsolation: "None" }),
    /must not be set/,
  ],
  [
    "a claim that adopts and donates",
    resources.apiServiceBindings,
    "x",
    {
      kubeconfigSecretRef,
      permissionClaims: [
        { resource: "secrets", version: "v1", state: "Accepted", autoAdopt: true, autoDonate: true },
      ],
    },
    /mutually exclusive/,
  ],
  [
    "a kubeconfig key of another name",
    resources.apiServiceBindings,
    "x",
    { kubeconfigSecretRef: { ...kubeconfigSecretRef, key: "config" } },
    /Unsupported value: "config"/,
  ],
  [
    "an export request without resources",
    resources.apiServiceExportRequests,
    "x",
    { resources: [] },
    /at least 1 items/,
  ],
  [
    "a resource of a group that is no domain",
    resources.apiServiceExportRequests,
    "x",
    { resources: [{ resource: "dbs", group: "-x.example.org" }] },
    /group in body should match/,
  ],
  [
    "a template whose selector has a small a",
    resources.apiServiceExportTemplates,
    "x",
    { apiServiceSelector: { resource: "dbs" } },
    /APIServiceSelector: Required value/,
  ],
  [
    "a ProviderConfig of an unknown service type",
    resources.providerConfigs,
    "x",
    {
      url: "http://b",
      serviceType: "other",
      providerCredentials: { source: "None", username: {}, password: {} },
    },
    /serviceType: Unsupported value/,
  ],
  [
    "a tenant's ProviderConfig that asks for the provider's own files",
    resources.namespacedProviderConfigs,
    "x",
    {
      url: "http://b",
      serviceType: "servicebroker",
      providerCredentials: { source: "Filesystem", username: {}, password: {} },
    },
    /source: Unsupported value: "Filesystem"/,
  ],
  [
    "a namespaced managed resource that names a ProviderConfig of another kind",
    resources.namespacedBackups,
    "x",
    { forProvider: { instanceName: "i" }, providerConfigRef: { kind: "Secret", name: "p" } },
    /kind: Unsupported value: "Secret"/,
  ],
];

for (const [what, type, name, spec, message] of refusals) {
  test(`refused: ${what}`, async () => {
    await assert.rejects(create(type, object(type, name, spec)), (error) => {
      assert.ok(isInvalid(error), String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

for (const group of ["", "x.example.org", "a-b.example.org", "example"]) {
  test(`accepted: a resource of the group ${JSON.stringify(group)}`, async () => {
    const type = resources.apiServiceExportRequests;
    await client.create(type, object(type, "g", { resources: [{ resource: "dbs", group }] }), {
      dryRun: true,
    });
  });
}

test("immutable fields cannot be changed", async () => {
  const type = resources.apiServiceBindings;
  const ref = { namespace: "a", name: "b.example.org" };
  await assert.rejects(
    client.mergePatch(type, ref, { spec: { kubeconfigSecretRef: { name: "other" } } }),
    /kubeconfigSecretRef is immutable/,
  );
});
