import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isInvalid } from "@klutch/kube";
import { customResourceDefinitions, type DynamicObject, isRecord, type KubeObject } from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { appClusterBindingCrd } from "./kinds/app-cluster-binding.ts";
import { appClusterBindings } from "./resources.ts";

const cluster = await leaseCluster({ name: "overrides" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
await client.create<KubeObject>(customResourceDefinitions, appClusterBindingCrd);
await waitFor("the kind to be served", async () => (await client.list(appClusterBindings)) !== undefined);

const stored = async (name: string, overrides: unknown): Promise<unknown> => {
  const { spec } = await client.create<DynamicObject>(appClusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "AppClusterBinding",
    metadata: { namespace: "default", name },
    spec: {
      kubeconfigSecretRef: { namespace: "default", name: "s", key: "kubeconfig" },
      konnector: { deploy: true, overrides },
    },
  });
  const konnector = isRecord(spec) ? spec["konnector"] : undefined;
  return isRecord(konnector) ? konnector["overrides"] : undefined;
};

test("the API server keeps every kind of override: zero values, nulls, removals, quantities, probes", async () => {
  const overrides = {
    image: "example.org/k:1",
    args: [],
    stdin: false,
    workingDir: "",
    livenessProbe: null,
    env: [
      { name: "A", value: "" },
      { name: "POD_NAME", $patch: "delete" },
      { name: "B", value: null, valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } },
    ],
    envFrom: [{ prefix: "X_", configMapRef: { name: "c" } }],
    ports: [{ containerPort: 8080, protocol: "TCP", $patch: "delete" }],
    volumeMounts: [
      { mountPath: "/a", name: "v", readOnly: false },
      { mountPath: "/b", $patch: "delete" },
    ],
    resources: { limits: { cpu: 1, memory: null }, requests: { cpu: "100m" } },
    securityContext: {
      runAsUser: 0,
      readOnlyRootFilesystem: false,
      capabilities: { drop: [] },
      runAsGroup: null,
    },
    readinessProbe: { httpGet: { path: "/r", port: "health", host: null }, initialDelaySeconds: 0 },
    startupProbe: { grpc: { port: 9, service: "s" }, failureThreshold: 1 },
    lifecycle: { preStop: { sleep: { seconds: 3 } } },
  };
  assert.deepEqual(await stored("all", overrides), overrides);
});

test("a protocol that is not named is TCP", async () => {
  assert.deepEqual(await stored("port", { ports: [{ containerPort: 1 }] }), {
    ports: [{ containerPort: 1, protocol: "TCP" }],
  });
});

for (const [what, overrides] of [
  ["a text where a number belongs", { readinessProbe: { periodSeconds: "often" } }],
  ["a variable without a name", { env: [{ value: "x" }] }],
  ["two variables of one name", { env: [{ name: "A" }, { name: "A" }] }],
  ["an unknown directive", { env: [{ name: "A", $patch: "merge" }] }],
  ["a list where a text belongs", { image: ["a"] }],
] as const) {
  test(`the API server refuses ${what}`, async () => {
    await assert.rejects(stored("refused", overrides), isInvalid);
  });
}

test("a field that containers do not have is dropped", async () => {
  assert.deepEqual(await stored("unknown", { image: "a", replicas: 3, resizePolicy: [] }), { image: "a" });
});
