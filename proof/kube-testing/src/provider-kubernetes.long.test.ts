import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiVersionOf,
  conditionsOf,
  configMaps,
  type DynamicObject,
  isTrue,
  namespaces,
} from "@klutch/kube-core";
import { leaseCluster } from "./pool/lease.ts";
import { namespaceObject } from "./objects.ts";
import {
  kubernetesObjects,
  kubernetesProviderConfig,
  startProviderKubernetes,
} from "./provider-kubernetes.ts";
import { waitFor } from "./wait-for.ts";

const cluster = await leaseCluster();
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;

/** The object that makes a ConfigMap, and is ready when the ConfigMap reports it. */
const lamp: DynamicObject = {
  apiVersion: apiVersionOf(kubernetesObjects),
  kind: "Object",
  metadata: { name: "lamp" },
  spec: {
    watch: true,
    providerConfigRef: { name: kubernetesProviderConfig },
    forProvider: {
      manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "rooms", name: "lamp" } },
    },
    readiness: {
      policy: "DeriveFromCelQuery",
      celQuery: "has(object.data) && has(object.data.light) && object.data.light == 'on'",
    },
  },
};
const room = { namespace: "rooms", name: "lamp" };

test("an Object is ready while its CEL query is true of what it made, and takes that with it", async () => {
  await client.create(namespaces, namespaceObject("rooms"));
  const { clusterFolder, kubeconfig } = { clusterFolder: cluster.dataDir, kubeconfig: cluster.kubeconfig };
  await using _provider = await startProviderKubernetes({
    client,
    kubeconfig,
    clusterFolder,
    namespace: "rooms",
  });
  await client.create(kubernetesObjects, lamp);
  const isLit = async (): Promise<boolean | undefined> => {
    const conditions = conditionsOf(await client.get<DynamicObject>(kubernetesObjects, { name: "lamp" }));
    return isTrue(conditions, "Synced") ? isTrue(conditions, "Ready") : undefined;
  };
  await waitFor("the ConfigMap", () => client.find(configMaps, room));
  await waitFor("the Object to be made, and dark", async () => (await isLit()) === false);
  for (const [light, expected] of [
    ["on", true],
    ["off", false],
  ] as const) {
    await client.mergePatch(configMaps, room, { data: { light } });
    await waitFor(`the Object to be ready: ${expected}`, async () => (await isLit()) === expected);
  }
  // An older client's version, which the webhook makes of the stored one.
  const old = await client.get<DynamicObject>(
    { ...kubernetesObjects, version: "v1alpha1" },
    { name: "lamp" },
  );
  assert.equal(old.apiVersion, "kubernetes.crossplane.io/v1alpha1");
  await client.delete(kubernetesObjects, { name: "lamp" });
  await waitFor("the ConfigMap to be gone", async () => (await client.find(configMaps, room)) === undefined);
});
