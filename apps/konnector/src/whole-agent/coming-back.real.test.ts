/** The konnector after any absence, between real API servers and with the backend as a process of its own. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExportTemplates,
  binderName,
  clusterKeySecret,
  consumerNamespace,
  kubeconfigKey,
  newClusterKey,
  renewalKeyAnnotation,
  renewalUrlAnnotation,
} from "@klutch/api";
import { ApiError, createKubeClient, parseForeignKubeconfig } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  secrets,
  secretText,
  serviceAccounts,
} from "@klutch/kube-core";
import { metricNames, startBackendProcess, TcpProxy, waitFor } from "@klutch/kube-testing";
import { metricsOf } from "@klutch/telemetry";
import { pairOf } from "../testing/pair.ts";
import {
  exportCrd,
  freshKubeconfig,
  installCrd,
  prepareTenant,
  tenantNamespace,
} from "../testing/provider-side.ts";
import { bindApi, startKonnector, startWorld, testApi, widget } from "../testing/world.ts";

const world = await startWorld({ backend: true });
const { consumer, provider } = world;
const { above, binding, untilReady, create } = pairOf(world);
const widgets = testApi("widgets", "Widget");
const gate = await TcpProxy.start(provider.url);
const gated = (kubeconfig: string): string => kubeconfig.replace(provider.url, gate.url);
await installCrd(provider, widgets.crd);
const first = gated(await prepareTenant(provider, ["widgets"]));
await provider.client.mergePatch(
  secrets,
  { namespace: tenantNamespace, name: kubeconfigKey },
  { data: { kubeconfig: Buffer.from(first).toString("base64") } },
);
// The backend gives rights only on what a template offers.
await provider.client.create(apiServiceExportTemplates, {
  apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportTemplate",
  metadata: { namespace: "default", name: "widgets" },
  spec: { APIServiceSelector: { group: widgets.type.group, resource: widgets.type.plural } },
});
await exportCrd(provider, widgets.crd);
const backend = await startBackendProcess(provider, {
  flags: [`--external-address=${gate.url}`, "--lease-namespace=default"],
});
after(async () => {
  await backend[Symbol.asyncDispose]();
  await gate[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const own = { namespace: consumerNamespace, name: "kubeconfig-test" };
const held = async (): Promise<DynamicObject> => consumer.client.get<DynamicObject>(secrets, own);
const registered = async (): Promise<string | undefined> =>
  (await provider.client.get(namespaces, { name: tenantNamespace })).metadata.annotations?.[
    renewalKeyAnnotation
  ];

async function answerTo(kubeconfig: string): Promise<number> {
  await using client = createKubeClient(parseForeignKubeconfig(kubeconfig));
  try {
    await client.get(namespaces, { name: tenantNamespace });
    return 200;
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
}

/** As if so much time had passed that every token had ended. */
async function endAllTokens(): Promise<void> {
  const kubeconfig = secretText(await held(), kubeconfigKey) ?? "";
  const account = { namespace: tenantNamespace, name: binderName };
  await provider.client.delete(serviceAccounts, account);
  await provider.client.create(serviceAccounts, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: account,
  });
  await waitFor("the token to end", async () => (await answerTo(kubeconfig)) === 401, { timeoutMs: 30_000 });
}

async function untilSynced(name: string): Promise<void> {
  await create(widgets.type, widget(widgets.type, name, {}));
  await waitFor(`${name} above`, () => above(widgets.type, name), { timeoutMs: 90_000 });
}

test("while its credential works, the konnector registers a key that never leaves the app cluster", async () => {
  await using _konnector = await startKonnector(world);
  await bindApi(world, widgets.name, first);
  await untilReady(widgets.name);
  await waitFor("the key to be registered", registered);
  assert.equal((await held()).metadata.annotations?.[renewalUrlAnnotation], `${backend.url}/renew`);
  await untilSynced("before");
});

test("a konnector that was away for longer than its credential's life comes back by itself", async () => {
  await endAllTokens();
  await using _konnector = await startKonnector(world);
  await untilSynced("after-the-absence");
  assert.equal(await answerTo(secretText(await held(), kubeconfigKey) ?? ""), 200);
  await untilReady(widgets.name);
});

test("a konnector whose credential ends while it runs goes on without a person", async () => {
  await using _konnector = await startKonnector(world);
  await untilSynced("running");
  // An ordinary renewal comes first, as it does every day.
  const renewed = gated(await freshKubeconfig(provider));
  await provider.client.mergePatch(
    secrets,
    { namespace: tenantNamespace, name: kubeconfigKey },
    { data: { kubeconfig: Buffer.from(renewed).toString("base64") } },
  );
  await waitFor("it to be brought over", async () => secretText(await held(), kubeconfigKey) === renewed);
  await endAllTokens();
  await gate.shut();
  await gate.open();
  await untilSynced("went-on");
});

test("a key that was revoked does not bring it back, and the binding says what to do", async () => {
  const annotations = { [renewalKeyAnnotation]: "revoked" };
  await provider.client.mergePatch(namespaces, { name: tenantNamespace }, { metadata: { annotations } });
  await endAllTokens();
  const before = secretText(await held(), kubeconfigKey);
  await using _konnector = await startKonnector(world);
  const message = await waitFor(
    "the refusal to be told",
    async () => {
      const told = findCondition(conditionsOf(await binding(widgets.name)), "InformersSynced");
      return told?.message?.includes("refused the key of this cluster") === true ? told.message : undefined;
    },
    { timeoutMs: 60_000 },
  );
  assert.match(message, /^the provider at \S+ refused the credential of Secret klutch-bind\/kubeconfig-test/);
  assert.match(message, /Run kubectl bind/);
  assert.equal(secretText(await held(), kubeconfigKey), before);
  assert.equal(await registered(), "revoked");
});

test("another key than the registered one does not bring it back either", async () => {
  const annotations = { [renewalKeyAnnotation]: null };
  await provider.client.mergePatch(namespaces, { name: tenantNamespace }, { metadata: { annotations } });
  const data = { "private-key": Buffer.from(newClusterKey()).toString("base64") };
  await consumer.client.mergePatch(secrets, { ...own, name: clusterKeySecret }, { data });
  const before = secretText(await held(), kubeconfigKey);
  await using _konnector = await startKonnector(world);
  await waitFor(
    "the refusal to be told",
    async () =>
      findCondition(conditionsOf(await binding(widgets.name)), "InformersSynced")?.message?.includes(
        "refused the key of this cluster",
      ),
    { timeoutMs: 60_000 },
  );
  assert.equal(secretText(await held(), kubeconfigKey), before);
});

test("the backend's process has the metrics of the catalogue", async () => {
  const metrics = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.deepEqual(
    metricNames(metrics),
    metricsOf("backend")
      .map(({ name }) => name)
      .toSorted(),
  );
  assert.match(metrics, /^klutch_cluster_bindings 1$/m);
  assert.match(metrics, /^controller_runtime_max_concurrent_reconciles\{controller="exports"\} 4$/m);
});
