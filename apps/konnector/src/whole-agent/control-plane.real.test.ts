/** The konnector in control-plane mode, between two real API servers: bindings and status on the provider, app cluster by Secret. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindings, apiServiceExports, clusterBindings, consumerNamespace } from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isTrue,
  secrets,
} from "@klutch/kube-core";
import { systemRuntime } from "@klutch/kube-runtime";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { runAgent } from "../agent.ts";
import { putKubeconfig } from "../testing/credentials.ts";
import { dropExportRules, rewriteExport } from "../testing/hostile-provider.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { testApi } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, cleanup, onProvider, onConsumer, createSynced } = fixture;
await dropExportRules(provider);
const appCluster = { namespace: tenantNamespace, name: "app-cluster" };
const stop = new AbortController();
const running = runAgent({
  config: {
    leaseName: "konnector",
    leaseNamespace: tenantNamespace,
    identity: "test",
    installCrd: false,
    timing: {},
    controlPlane: {
      secretName: appCluster.name,
      secretNamespace: appCluster.namespace,
      secretKey: "kubeconfig",
      rootNamespace: tenantNamespace,
    },
  },
  cluster: provider.config,
  ...systemRuntime({ logger: silentLogger, metrics: createMetrics() }),
  signal: stop.signal,
});
cleanup.defer(() => running);
cleanup.defer(() => stop.abort(new Error("the test ended")));

const bindingRef = { namespace: tenantNamespace, name: widgets.name };
const condition = async (type: string): Promise<ReturnType<typeof findCondition>> =>
  findCondition(conditionsOf(await provider.client.get<DynamicObject>(apiServiceBindings, bindingRef)), type);

test("a missing or unusable kubeconfig is said in the binding on the provider", async () => {
  await provider.client.create<DynamicObject>(apiServiceBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: bindingRef,
    spec: { kubeconfigSecretRef: { ...appCluster, key: "kubeconfig" } },
  });
  await waitFor(
    "the report",
    async () => (await condition("SecretValid"))?.reason === "KubeconfigSecretNotFound",
  );
  await provider.client.create(
    secrets,
    secretObject(appCluster.namespace, appCluster.name, { kubeconfig: "nonsense" }),
  );
  await waitFor(
    "the report",
    async () => (await condition("SecretValid"))?.reason === "KubeconfigSecretInvalid",
  );
});

test("an app cluster that refuses the kubeconfig is named, and the next kubeconfig is used", async () => {
  const refused = consumer.kubeconfig.replace(/\btoken: .*/, "token: revoked");
  assert.notEqual(refused, consumer.kubeconfig);
  await putKubeconfig(provider, appCluster, refused);
  const message = await waitFor("the refusal", async () => {
    const told = await condition("InformersSynced");
    return told?.status === "False" && told.reason !== "Pending" ? told.message : undefined;
  });
  assert.match(
    message,
    /^the app cluster at https:\S+ refused the credential of Secret cluster-test\/app-cluster/,
  );
});

test("with a kubeconfig the API works; the app cluster gets no Klutch kinds, status stays on the provider", async () => {
  await putKubeconfig(provider, appCluster, consumer.kubeconfig);
  await waitFor("the binding", async () => (await condition("Ready"))?.status === "True");
  await createSynced(widgets.type, "one", { size: 1 });
  const crds = await consumer.client.list(customResourceDefinitions);
  assert.deepEqual(
    crds.items.map(({ metadata }) => metadata.name),
    [widgets.name],
  );
  const exported = await provider.client.get<DynamicObject>(apiServiceExports, bindingRef);
  assert.ok(isTrue(conditionsOf(exported), "Connected"));
  const own = await provider.client.get<DynamicObject>(clusterBindings, {
    namespace: tenantNamespace,
    name: "cluster",
  });
  assert.equal(findCondition(conditionsOf(own), "SecretValid"), undefined);
  assert.ok(isTrue(conditionsOf(own), "ValidVersion"));
});

test("a replaced kubeconfig of the app cluster is used at once, without starting again", async () => {
  const rotated = consumer.kubeconfig.replace(/current-context: .*/, (line) => `${line}\n# rotated`);
  await putKubeconfig(provider, appCluster, rotated);
  await createSynced(widgets.type, "two", { size: 1 });
  assert.ok((await condition("Ready"))?.status === "True");
});

test("an export that becomes another API stops the sync in this mode, too, until it is taken back", async () => {
  const { spec } = await provider.client.get<DynamicObject>(apiServiceExports, bindingRef);
  await rewriteExport(provider, widgets.name, {
    spec: { group: "", names: { plural: "secrets", kind: "Secret" } },
  });
  await waitFor(
    "the refusal",
    async () => (await condition("Connected"))?.reason === "APIServiceExportInvalid",
  );
  await rewriteExport(provider, widgets.name, { spec });
  await waitFor("the binding", async () => (await condition("Ready"))?.status === "True");
  await rewriteExport(provider, widgets.name, {
    spec: { names: { kind: "Secret", listKind: "SecretList" } },
  });
  await waitFor(
    "the other refusal",
    async () => (await condition("Connected"))?.reason === "APIServiceExportIdentityChanged",
  );
  await rewriteExport(provider, widgets.name, { spec });
  await waitFor("the binding", async () => (await condition("Ready"))?.status === "True");
});

test("unbinding works from the provider's side", async () => {
  await provider.client.delete(apiServiceBindings, bindingRef);
  await waitFor(
    "the binding to go",
    async () => !(await provider.client.find(apiServiceBindings, bindingRef)),
  );
  const claim = await onConsumer(widgets.type, "one");
  assert.equal(claim?.metadata.finalizers, undefined);
  assert.ok(await onProvider(widgets.type, "one"));
  assert.equal(
    await consumer.client.find(secrets, { namespace: consumerNamespace, name: "kubeconfig-test" }),
    undefined,
  );
});
