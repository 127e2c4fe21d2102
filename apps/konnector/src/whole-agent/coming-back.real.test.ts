/** The konnector after any absence, between real API servers and with the backend as a process of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterKeySecret,
  kubeconfigKey,
  newClusterKey,
  renewalKeyAnnotation,
  renewalUrlAnnotation,
} from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  secrets,
  secretText,
} from "@klutch/kube-core";
import { answerTo, documentedMetrics, metricNames, startBackendProcess, waitFor } from "@klutch/kube-testing";
import { consumerSecret, endTokens, providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { freshKubeconfig, tenantNamespace } from "../testing/provider-side.ts";
import { startGatedFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startGatedFixture(widgets);
const {
  consumer,
  provider,
  cleanup,
  binding,
  untilReady,
  createSynced,
  gate,
  gated,
  kubeconfig: first,
} = fixture;
const backend = cleanup.use(
  await startBackendProcess(provider, {
    flags: [`--external-address=${gate.url}`, "--lease-namespace=default"],
  }),
);

const held = async (): Promise<DynamicObject> => consumer.client.get<DynamicObject>(secrets, consumerSecret);
const registered = async (): Promise<string | undefined> =>
  (await provider.client.get(namespaces, { name: tenantNamespace })).metadata.annotations?.[
    renewalKeyAnnotation
  ];

/** As if so much time had passed that every token had ended. */
const endAllTokens = async (): Promise<void> =>
  endTokens(provider, secretText(await held(), kubeconfigKey) ?? "");

const untilSynced = (name: string): Promise<unknown> =>
  createSynced(widgets.type, name, {}, { timeoutMs: 90_000 });

test("while its credential works, the konnector registers a key that never leaves the app cluster", async () => {
  await using _konnector = await startKonnector(fixture);
  await bindApi(fixture, widgets.name, first);
  await untilReady(widgets.name);
  await waitFor("the key to be registered", registered);
  assert.equal((await held()).metadata.annotations?.[renewalUrlAnnotation], `${backend.url}/renew`);
  await untilSynced("before");
});

test("a konnector that was away for longer than its credential's life comes back by itself", async () => {
  await endAllTokens();
  await using _konnector = await startKonnector(fixture);
  await untilSynced("after-the-absence");
  assert.equal(await answerTo(secretText(await held(), kubeconfigKey) ?? ""), 200);
  await untilReady(widgets.name);
});

test("a konnector whose credential ends while it runs goes on without a person", async () => {
  await using _konnector = await startKonnector(fixture);
  await untilSynced("running");
  // An ordinary renewal comes first, as it does every day.
  const renewed = gated(await freshKubeconfig(provider));
  await putKubeconfig(provider, providerSecret, renewed);
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
  await using _konnector = await startKonnector(fixture);
  const message = await waitFor("the refusal to be told", async () => {
    const told = findCondition(conditionsOf(await binding(widgets.name)), "InformersSynced");
    return told?.message?.includes("refused the key of this cluster") === true ? told.message : undefined;
  });
  assert.match(message, /^the provider at \S+ refused the credential of Secret klutch-bind\/kubeconfig-test/);
  assert.match(message, /Run kubectl bind/);
  assert.equal(secretText(await held(), kubeconfigKey), before);
  assert.equal(await registered(), "revoked");
});

test("another key than the registered one does not bring it back either", async () => {
  const annotations = { [renewalKeyAnnotation]: null };
  await provider.client.mergePatch(namespaces, { name: tenantNamespace }, { metadata: { annotations } });
  const data = { "private-key": Buffer.from(newClusterKey()).toString("base64") };
  await consumer.client.mergePatch(secrets, { ...consumerSecret, name: clusterKeySecret }, { data });
  const before = secretText(await held(), kubeconfigKey);
  await using _konnector = await startKonnector(fixture);
  await waitFor("the refusal to be told", async () =>
    findCondition(conditionsOf(await binding(widgets.name)), "InformersSynced")?.message?.includes(
      "refused the key of this cluster",
    ),
  );
  assert.equal(secretText(await held(), kubeconfigKey), before);
});

test("the backend's process has the metrics of the catalogue", async () => {
  const metrics = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.deepEqual(metricNames(metrics), documentedMetrics("backend"));
  assert.match(metrics, /^klutch_cluster_bindings 1$/m);
  assert.match(metrics, /^controller_runtime_max_concurrent_reconciles\{controller="exports"\} 4$/m);
});
