import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiServiceBindings, appClusterBindings, unbindFinalizer } from "@klutch/api";
import {
  clusterRoles,
  deployments,
  type DynamicObject,
  isRecord,
  type KubeObject,
  leases,
  namespaces,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { createKubeconfig, startControlPlaneFixture, until } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startControlPlaneFixture());
const { client, condition, create } = fixture;
await createKubeconfig(client);

const apiExports = [{ group: "mangodb.com", resource: "mangodbs" }];
const konnector = { namespace: "klutch-bind-default-app", name: "konnector-app" };
const app = { namespace: "default", name: "app" };
const deployment = (): Promise<DynamicObject | undefined> =>
  client.find<DynamicObject>(deployments, konnector);
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (found, step) => (Array.isArray(found) ? found[Number(step)] : isRecord(found) ? found[step] : undefined),
    value,
  );
const container = async (): Promise<unknown> =>
  at(await deployment(), "spec", "template", "spec", "containers", 0);
const override = (overrides: object | null): Promise<KubeObject> =>
  client.mergePatch(appClusterBindings, app, { spec: { konnector: { overrides } } });
/** Plays the Deployment controller. */
async function rollOut(available: "True" | "False"): Promise<void> {
  const { generation } = (await client.get<DynamicObject>(deployments, konnector)).metadata;
  const conditions = [
    { type: "Available", status: available, message: "Deployment lacks minimum availability." },
  ];
  const status = { observedGeneration: generation, conditions };
  await client.mergePatch(deployments, konnector, { status }, { subresource: "status" });
}
const deployed = (): Promise<string> => condition("app", "KonnectorDeployed");

test("the konnector is deployed on demand, and KonnectorDeployed says whether it is available", async () => {
  await create("app", { apiExports, konnector: { deploy: true } });
  await until("the new Deployment", deployed, /^False Error\/KonnectorDeploymentFailed: .*not rolled out/);
  assert.equal(at(await container(), "image"), "example.org/konnector:test");
  await rollOut("False");
  await until("the unavailable one", deployed, /is not available: Deployment lacks minimum availability/);
  await rollOut("True");
  await until("the available one", deployed, /^True$/);
});

test("nothing is written when nothing differs, although the server completed the Deployment", async () => {
  await override({ resources: { limits: { cpu: "0.5" } }, stdin: false, workingDir: "", args: [] });
  await waitFor("the override", async () => at(await container(), "resources", "limits", "cpu") === "500m");
  await rollOut("True");
  await until("the rollout", deployed, /^True$/);
  const { metadata } = (await deployment()) ?? {};
  const before = fixture.applied().length;
  for (const touched of ["1", "2", "3"]) {
    await client.mergePatch(appClusterBindings, app, { metadata: { annotations: { touched } } });
  }
  await client.mergePatch(appClusterBindings, app, { spec: { apiExports: [] } });
  await waitFor("the last pass", async () => (await condition("app", "BindingsReady")) === "True");
  const after = (await deployment())?.metadata;
  assert.equal(after?.generation, metadata?.generation);
  assert.equal(after?.resourceVersion, metadata?.resourceVersion);
  // Only the tenant's role follows the export that went.
  assert.deepEqual(
    fixture
      .applied()
      .slice(before)
      .filter((resource) => resource !== "clusterroles"),
    [],
  );
  await client.mergePatch(appClusterBindings, app, { spec: { apiExports } });
});

test("false and 0 reach the container; a field that is no longer overridden goes back to the generated value", async () => {
  await override({
    resources: null,
    stdin: null,
    workingDir: null,
    args: null,
    securityContext: { privileged: false, runAsUser: 7 },
    readinessProbe: { initialDelaySeconds: 0, periodSeconds: 3 },
    env: [{ name: "TZ", value: "UTC" }],
  });
  const context = async (): Promise<unknown> => at(await container(), "securityContext");
  await waitFor("the override", async () => at(await context(), "privileged") === false);
  assert.equal(at(await context(), "runAsUser"), 7);
  assert.equal(at(await context(), "readOnlyRootFilesystem"), true);
  assert.equal(at(await container(), "readinessProbe", "periodSeconds"), 3);
  const extra = async (): Promise<unknown> => {
    const env = at(await container(), "env");
    return Array.isArray(env) ? env.find((variable) => at(variable, "name") === "TZ") : undefined;
  };
  assert.deepEqual(await extra(), { name: "TZ", value: "UTC" });
  await override(null);
  await waitFor("the generated value", async () => at(await context(), "runAsUser") === undefined);
  assert.equal(await extra(), undefined);
  assert.equal(at(await container(), "args", 0), "--control-plane-mode");
});

test("an edit of the Deployment by hand is undone, what others add is left", async () => {
  const annotations = { "example.org/theirs": "stays" };
  await client.mergePatch(deployments, konnector, { metadata: { annotations }, spec: { replicas: 7 } });
  await waitFor("the replicas", async () => at(await deployment(), "spec", "replicas") === 2);
  assert.equal((await deployment())?.metadata.annotations?.["example.org/theirs"], "stays");
});

test("overrides that the API server refuses are told, and the running konnector stays", async () => {
  await override({ resources: { requests: { memory: "1Gi" }, limits: { memory: "512Mi" } } });
  await until("the refusal", deployed, /^False Error\/KonnectorDeploymentFailed: The Deployment was refused/);
  assert.equal(at(await container(), "image"), "example.org/konnector:test");
  await override(null);
  await rollOut("True");
  await until("the good one", deployed, /^True$/);
});

test("overrides that would give the konnector more than it has are refused with field, value and allowed values", async () => {
  const refusals: readonly (readonly [object, RegExp])[] = [
    [{ securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }, /capabilities\.add is \["SYS_ADMIN"\]/],
    [{ securityContext: { privileged: true } }, /securityContext\.privileged is true; only false/],
    [{ securityContext: { allowPrivilegeEscalation: true } }, /allowPrivilegeEscalation is true; only false/],
    [{ ports: [{ containerPort: 9, hostPort: 22 }] }, /ports\[9\]\.hostPort is 22/],
    [
      { image: "evil.example.com/miner:1" },
      /image is "evil\.example\.com\/miner:1".*example\.org\/konnector/,
    ],
    [{ image: "example.org/konnector-evil:1" }, /image is .*--allowed-image-prefix/],
    [{ command: ["sh"] }, /command is \["sh"\]; only args, env, image.* may be changed/],
    [{ envFrom: [{ secretRef: { name: "s" } }] }, /envFrom is .*; only args, env/],
    [{ env: [{ name: "LD_PRELOAD", value: "x" }] }, /env\[LD_PRELOAD\] is set; only .*TZ.* may be set/],
    [{ env: [{ name: "HTTPS_PROXY", value: "x" }] }, /env\[HTTPS_PROXY\] is set; only/],
    [{ resources: { limits: { cpu: "1000" } } }, /limits\.cpu is "1000"; only cpu up to 4/],
    [{ livenessProbe: { exec: { command: ["sh"] } } }, /livenessProbe\.exec is .*; only grpc, httpGet/],
  ];
  for (const [overrides, words] of refusals) {
    const { generation } = (await client.get<DynamicObject>(deployments, konnector)).metadata;
    await override(overrides);
    await until(`the refusal of ${JSON.stringify(overrides)}`, deployed, /^False Error\/OverridesNotAllowed/);
    assert.match(await deployed(), words);
    assert.equal((await client.get<DynamicObject>(deployments, konnector)).metadata.generation, generation);
    await override(null);
    await until("the good one", deployed, /^True$/);
  }
  await override({ image: "example.org/konnector@sha256:" + "a".repeat(64) });
  await waitFor("an image of the own repository", async () =>
    /@sha256/.test(String(at(await container(), "image"))),
  );
  await override(null);
  await waitFor("the own image", async () => at(await container(), "image") === "example.org/konnector:test");
});

test("a konnector that runs with overrides of before, which are not allowed now, goes on without overrides", async () => {
  const privileged = {
    securityContext: { allowPrivilegeEscalation: true, capabilities: { add: ["SYS_ADMIN"], drop: [] } },
  };
  await override(privileged);
  await until("the refusal", deployed, /^False Error\/OverridesNotAllowed/);
  const containers = [{ name: "konnector", ...privileged }];
  const patch = { spec: { template: { spec: { containers } } } };
  await client.apply(
    deployments,
    { apiVersion: "apps/v1", kind: "Deployment", metadata: konnector, ...patch },
    { fieldManager: "before", force: true },
  );
  await waitFor("the generated container", async () => {
    const context = at(await container(), "securityContext");
    return (
      at(context, "allowPrivilegeEscalation") === false && at(context, "capabilities", "add") === undefined
    );
  });
  assert.match(await deployed(), /OverridesNotAllowed/);
  await override(null);
  await rollOut("True");
  await until("the good one", deployed, /^True$/);
});

test("the konnector goes when it is no longer wanted", async () => {
  await client.mergePatch(appClusterBindings, app, { spec: { konnector: { deploy: false } } });
  await waitFor("the Deployment to go", async () => (await deployment()) === undefined);
  await until("the verdict", deployed, /^True$/);
});

const gone = async (name: string): Promise<boolean> =>
  (await client.find(appClusterBindings, { namespace: "default", name })) === undefined &&
  (await client.find(namespaces, { name: `klutch-bind-default-${name}` })) === undefined &&
  (await client.find(clusterRoles, { name: `klutch-binder-klutch-bind-default-${name}` })) === undefined;

/** Binds, and lets a konnector take hold of the binding. */
async function bind(name: string): Promise<{ readonly namespace: string; readonly name: string }> {
  if ((await client.find(appClusterBindings, { namespace: "default", name })) === undefined) {
    await create(name, { apiExports });
  }
  const ref = { namespace: `klutch-bind-default-${name}`, name: "mangodbs.mangodb.com" };
  await waitFor("the binding", () =>
    client.mergePatch(apiServiceBindings, ref, { metadata: { finalizers: [unbindFinalizer] } }),
  );
  await waitFor("the rights", () => client.find(clusterRoles, { name: `klutch-binder-${ref.namespace}` }));
  return ref;
}

test("deletion waits for the konnector to unbind, however long that takes, and then leaves nothing", async () => {
  const ref = await bind("app");
  const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace("Z", "000Z");
  await client.create<DynamicObject>(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: ref.namespace, name: "klutch-bind" },
    spec: { holderIdentity: "konnector-1", renewTime, leaseDurationSeconds: 15 },
  });
  fixture.shift.ms = 600_000;
  try {
    await client.delete(appClusterBindings, app);
    await until("the unbinding", () => condition("app", "Unbound"), /^False Info\/Unbinding: .*mangodbs/);
    // The same reconcile that says so would go on at once.
    for (let look = 0; look < 50; look++) {
      const { metadata } = await client.get(namespaces, { name: ref.namespace });
      assert.equal(metadata.deletionTimestamp, undefined);
    }
    assert.ok(await client.find(clusterRoles, { name: `klutch-binder-${ref.namespace}` }), "the rights");
    await client.mergePatch(apiServiceBindings, ref, { metadata: { finalizers: null } });
    await waitFor("everything to be gone", () => gone("app"));
  } finally {
    fixture.shift.ms = 0;
  }
});

test("without a konnector the unbinding is given up after two minutes, and that is told", async () => {
  const ref = await bind("alone");
  await client.mergePatch(
    appClusterBindings,
    { namespace: "default", name: "alone" },
    {
      metadata: { finalizers: ["klutch.anynines.com/appclusterbinding-cleanup", "example.org/reader"] },
    },
  );
  await client.delete(appClusterBindings, { namespace: "default", name: "alone" });
  const unbound = (): Promise<string> => condition("alone", "Unbound");
  await until("the wait", unbound, /^False Info\/KonnectorNotRunning/);
  assert.ok(await client.find(apiServiceBindings, ref));
  fixture.shift.ms = 121_000;
  try {
    await client.mergePatch(
      appClusterBindings,
      { namespace: "default", name: "alone" },
      {
        metadata: { annotations: { touched: "again" } },
      },
    );
    await until("the end of the wait", unbound, /^False Warning\/KonnectorNotRunning: .*by hand/);
    await waitFor("the namespace to go", async () => {
      return (await client.find(namespaces, { name: ref.namespace })) === undefined;
    });
    await waitFor("our finalizer to go", async () => {
      const { metadata } = await client.get(appClusterBindings, { namespace: "default", name: "alone" });
      return metadata.finalizers?.join() === "example.org/reader";
    });
    assert.match(await unbound(), /KonnectorNotRunning/);
    await client.mergePatch(
      appClusterBindings,
      { namespace: "default", name: "alone" },
      {
        metadata: { finalizers: null },
      },
    );
    await waitFor("everything to be gone", () => gone("alone"));
  } finally {
    fixture.shift.ms = 0;
  }
});

test("an AppClusterBinding that never got anywhere goes at once", async () => {
  const kubeconfigSecretRef = { namespace: "default", name: "absent", key: "kubeconfig" } as const;
  await create("nothing", { kubeconfigSecretRef });
  await until("the verdict", () => condition("nothing", "SecretValid"), /NotFound/);
  await client.delete(appClusterBindings, { namespace: "default", name: "nothing" });
  await waitFor("it to be gone", () => gone("nothing"));
});
