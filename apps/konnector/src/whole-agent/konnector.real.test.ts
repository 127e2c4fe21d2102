/** The konnector between two real API servers: binding, both directions, deletion. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServiceBindings,
  apiServiceExports,
  bindingRoleName,
  boundAnnotation,
  clusterBindings,
  consumerNamespace,
  resourceOwnerAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import {
  clusterRoles,
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  isTrue,
  secrets,
} from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { documentedMetrics, metricNames, secretObject, waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { exportCrd, installCrd, providerSecrets, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import {
  bindApi,
  confineApi,
  createBinding,
  grantApi,
  startKonnector,
  testApi,
  widget,
} from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget", { statusSubresource: false });
const fixture = await startTenantFixture({
  exported: [{ ...widgets, claims: [providerSecrets] }, gadgets],
});
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, binding } = fixture;
const konnector = cleanup.use(await startKonnector(fixture));

const inProvider = { namespace: serviceNamespace };
const inConsumer = { namespace: "app" };

test("a binding brings the CRD, and its conditions and the export's become True", async () => {
  await bindApi(fixture, widgets.name, kubeconfig, [{ ...providerSecrets, state: "Accepted" }]);
  await bindApi(fixture, gadgets.name, kubeconfig);
  const bound = await waitFor("the binding to be ready", async () => {
    const found = await binding(widgets.name);
    return isTrue(conditionsOf(found), "Ready") ? found : undefined;
  });
  for (const type of ["SecretValid", "InformersSynced", "Heartbeating", "Connected", "SchemaInSync"]) {
    assert.equal(findCondition(conditionsOf(bound), type)?.status, "True", type);
  }
  assert.deepEqual((bound.status as { providerPrettyName?: string }).providerPrettyName, "Test");
  await waitFor("the export to be Ready", async () =>
    isTrue(
      conditionsOf(
        await provider.client.get(apiServiceExports, { namespace: tenantNamespace, name: widgets.name }),
      ),
      "Ready",
    ),
  );
});

test("the provider hears the heartbeat with interval and version", async () => {
  const { status } = await provider.client.get<DynamicObject>(clusterBindings, {
    namespace: tenantNamespace,
    name: "cluster",
  });
  const { heartbeatInterval, konnectorVersion, lastHeartbeatTime } = status as Record<string, string>;
  assert.equal(heartbeatInterval, "55s");
  assert.match(konnectorVersion ?? "", /^v\d+\.\d+\.\d+$/);
  assert.ok(Date.parse(lastHeartbeatTime ?? "") > 0);
});

test("an object goes up by apply under one manager, and its status comes down", async () => {
  const labels = { team: "a", "app.kubernetes.io/instance": "not-up" };
  await consumer.client.create(widgets.type, widget(widgets.type, "one", { size: 1, old: true }, { labels }));
  const up = await waitFor("the object on the provider", () => onProvider(widgets.type, "one"));
  assert.deepEqual(up.spec, { size: 1, old: true });
  assert.deepEqual(up.metadata.labels, { team: "a" });
  assert.equal(up.metadata.annotations?.[boundAnnotation], "true");
  const managers = (up.metadata.managedFields ?? []) as { manager: string; operation: string }[];
  assert.deepEqual(
    managers.map(({ manager, operation }) => `${manager} ${operation}`),
    ["klutch.anynines.com Apply"],
  );
  await provider.client.mergePatch(
    widgets.type,
    { ...inProvider, name: "one" },
    { status: { phase: "Running" } },
    { subresource: "status" },
  );
  await waitFor("the claim's status", async () => {
    const { status } = (await onConsumer(widgets.type, "one")) ?? {};
    return (status as { phase?: string } | undefined)?.phase === "Running";
  });
  const down = await onConsumer(widgets.type, "one");
  assert.deepEqual(down?.metadata.finalizers, [syncerFinalizer]);
  assert.deepEqual(down?.status, { phase: "Running" });
});

test("a field removed from the claim is removed upstream, the provider's fields stay, later labels follow", async () => {
  const ref = { ...inProvider, name: "one" };
  await provider.client.mergePatch(widgets.type, ref, { spec: { resourceRef: { name: "xr" } } });
  await consumer.client.mergePatch(
    widgets.type,
    { ...inConsumer, name: "one" },
    { metadata: { labels: { later: "yes" } }, spec: { old: null, size: 2 } },
  );
  const up = await waitFor("the change on the provider", async () => {
    const found = await onProvider(widgets.type, "one");
    return found?.metadata.labels?.["later"] === "yes" ? found : undefined;
  });
  assert.deepEqual(up.spec, { size: 2, resourceRef: { name: "xr" } });
});

test("an edit on the provider is reverted", async () => {
  await provider.client.mergePatch(widgets.type, { ...inProvider, name: "one" }, { spec: { size: 99 } });
  await waitFor("the revert", async () => {
    const { spec } = (await onProvider(widgets.type, "one")) ?? {};
    return (spec as { size?: number } | undefined)?.size === 2;
  });
});

test("status of a kind without status subresource comes down", async () => {
  await consumer.client.create(gadgets.type, widget(gadgets.type, "plain", { a: 1 }));
  await waitFor("the object on the provider", () => onProvider(gadgets.type, "plain"));
  await provider.client.mergePatch(
    gadgets.type,
    { ...inProvider, name: "plain" },
    { status: { phase: "Running" } },
  );
  await waitFor("the claim's status", async () => (await onConsumer(gadgets.type, "plain"))?.status);
});

test("the provider's Secret comes down, and no Secret of the app cluster goes up", async () => {
  await consumer.client.create(secrets, secretObject("app", "private", { key: "mine" }));
  await consumer.client.create(secrets, secretObject("app", "taken", { key: "mine" }));
  await provider.client.create(secrets, secretObject(serviceNamespace, "taken", { key: "theirs" }));
  await provider.client.create(
    secrets,
    secretObject(serviceNamespace, "creds", { password: "one", gone: "x" }),
  );
  const down = await waitFor("the credentials", () => onConsumer(secrets, "creds"));
  assert.equal(down.metadata.annotations?.[resourceOwnerAnnotation], "Provider");
  const text = Buffer.from("two").toString("base64");
  await provider.client.mergePatch(
    secrets,
    { ...inProvider, name: "creds" },
    { data: { password: text, gone: null } },
  );
  await waitFor("the change in the app cluster", async () => {
    const found = await onConsumer(secrets, "creds");
    const data = found?.["data"] as Record<string, string> | undefined;
    return data?.["password"] === text && data["gone"] === undefined;
  });
  await consumer.client.mergePatch(secrets, { ...inConsumer, name: "creds" }, { data: { password: "eA==" } });
  await waitFor("the consumer's edit to be reverted", async () => {
    const found = await onConsumer(secrets, "creds");
    return (found?.["data"] as Record<string, string> | undefined)?.["password"] === text;
  });
  await consumer.client.delete(secrets, { ...inConsumer, name: "creds" });
  await waitFor("the Secret to be made again", () => onConsumer(secrets, "creds"));
  await provider.client.delete(secrets, { ...inProvider, name: "creds" });
  await waitFor("the Secret to be gone", async () => (await onConsumer(secrets, "creds")) === undefined);
  assert.equal(await onProvider(secrets, "private"), undefined);
  const kept = await onConsumer(secrets, "taken");
  assert.deepEqual(kept?.["data"], { key: Buffer.from("mine").toString("base64") });
  assert.equal(kept?.metadata.annotations, undefined);
});

test("an answer to a claim takes effect at once, without restart", async () => {
  const ref = { namespace: consumerNamespace, name: widgets.name };
  const answer = async (state: "Accepted" | "Rejected"): Promise<void> => {
    await consumer.client.mergePatch(apiServiceBindings, ref, {
      spec: { permissionClaims: [{ ...providerSecrets, state }] },
    });
  };
  const watched = konnector.watches.filter((watch) => watch === "consumer secrets").length;
  await answer("Rejected");
  await provider.client.create(secrets, secretObject(serviceNamespace, "late", { password: "x" }));
  await answer("Accepted");
  await waitFor("the Secret that was made meanwhile", () => onConsumer(secrets, "late"));
  assert.ok(konnector.watches.filter((watch) => watch === "consumer secrets").length > watched);
});

test("an upstream object that the provider deletes is made again", async () => {
  const before = await onProvider(widgets.type, "one");
  await provider.client.delete(widgets.type, { ...inProvider, name: "one" });
  await waitFor("another object", async () => {
    const found = await onProvider(widgets.type, "one");
    return found !== undefined && found.metadata.uid !== before?.metadata.uid;
  });
});

test("a claim stays until its upstream is really gone", async () => {
  const hold = ["test.klutch.example/hold"];
  await provider.client.mergePatch(
    widgets.type,
    { ...inProvider, name: "one" },
    { metadata: { finalizers: hold } },
  );
  await consumer.client.delete(widgets.type, { ...inConsumer, name: "one" });
  await waitFor("the deletion on the provider", async () => {
    const found = await onProvider(widgets.type, "one");
    return found?.metadata.deletionTimestamp;
  });
  assert.deepEqual((await onConsumer(widgets.type, "one"))?.metadata.finalizers, [syncerFinalizer]);
  await waitFor("an event that says what it waits for", async () => {
    const { items } = await consumer.client.list<DynamicObject>(events, inConsumer);
    return items.some((event) => event["reason"] === "WaitingForDeletion");
  });
  assert.ok(await onConsumer(widgets.type, "one"));
  await provider.client.mergePatch(
    widgets.type,
    { ...inProvider, name: "one" },
    { metadata: { finalizers: null } },
  );
  await waitFor("the claim to be gone", async () => (await onConsumer(widgets.type, "one")) === undefined);
});

test("adoption: an object that only the provider has appears in the app cluster, without its owners and finalizers", async () => {
  const metadata = { ...inProvider, finalizers: ["test.klutch.example/hold"] };
  await provider.client.create(widgets.type, widget(widgets.type, "adopted", { size: 7 }, metadata));
  const down = await waitFor("the object in the app cluster", () => onConsumer(widgets.type, "adopted"));
  assert.deepEqual(down.spec, { size: 7 });
  assert.deepEqual(down.metadata.finalizers, [syncerFinalizer]);
  const ref = { ...inProvider, name: "adopted" };
  await provider.client.mergePatch(widgets.type, ref, { metadata: { finalizers: null } });
  await waitFor(
    "the mark on the provider",
    async () =>
      (await onProvider(widgets.type, "adopted"))?.metadata.annotations?.[boundAnnotation] === "true",
  );
  await consumer.client.delete(widgets.type, { ...inConsumer, name: "adopted" });
  await assert.doesNotReject(
    waitFor("both to be gone", async () => {
      const [a, b] = [await onConsumer(widgets.type, "adopted"), await onProvider(widgets.type, "adopted")];
      return a === undefined && b === undefined;
    }),
  );
  await assert.rejects(provider.client.get(widgets.type, ref), isNotFound);
});

test("while a cluster refuses to list the bound kind, the binding says which, where and who can change it", async () => {
  const things = testApi("things", "Thing");
  await installCrd(provider, things.crd);
  await exportCrd(provider, things.crd);
  await confineApi(fixture, things.name);
  await createBinding(fixture, things.name);
  const stalled = (where: RegExp): Promise<unknown> =>
    waitFor(`Stalled ${where}`, async () => {
      const conditions = conditionsOf(await binding(things.name));
      const found = findCondition(conditions, "Stalled");
      return found?.reason === "Forbidden" && where.test(found.message ?? "") && !isTrue(conditions, "Ready");
    });
  await stalled(/^the agent may not list things\.test\.klutch\.example in the app cluster, .*kubectl bind/);
  await grantApi(fixture, things.name);
  await stalled(
    /^the agent may not list things\.test\.klutch\.example at the provider, namespace cluster-test-app, .*Ask the provider/,
  );
  const role = { name: `klutch-binder-${tenantNamespace}` };
  const { rules } = await provider.client.get<DynamicObject>(clusterRoles, role);
  const added = { apiGroups: ["test.klutch.example"], resources: ["things"], verbs: ["*"] };
  await provider.client.mergePatch(clusterRoles, role, { rules: [...(rules as object[]), added] });
  await waitFor("the binding to be ready", async () => {
    const conditions = conditionsOf(await binding(things.name));
    return isTrue(conditions, "Ready") && findCondition(conditions, "Stalled") === undefined;
  });
  await consumer.client.create(things.type, widget(things.type, "late", { size: 1 }));
  await waitFor("the object on the provider", () => onProvider(things.type, "late"));
  // An open watch goes on for minutes after its right is gone.
  await consumer.client.delete(clusterRoles, { name: bindingRoleName(things.name) });
  await stalled(/^the agent may not list things\.test\.klutch\.example in the app cluster, .*kubectl bind/);
  assert.ok(isTrue(conditionsOf(await binding(widgets.name)), "Ready"));
  await grantApi(fixture, things.name);
  await waitFor("the binding to be ready again", async () => {
    const conditions = conditionsOf(await binding(things.name));
    return isTrue(conditions, "Ready") && findCondition(conditions, "Stalled") === undefined;
  });
});

test("probes and metrics answer", async () => {
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${konnector.probePort}${path}`);
  const health = await get("/healthz");
  assert.equal(health.status, 200);
  assert.deepEqual(await health.json(), { leaderElection: "ok" });
  await waitFor("readiness", async () => (await get("/readyz")).ok);
  const metrics = await (await get("/metrics")).text();
  assert.match(metrics, /^klutch_sync_writes_total\{resource="widgets"/m);
  assert.match(metrics, /^klutch_bindings\{state="ready"\} \d/m);
  assert.match(metrics, /^klutch_claims\{resource="widgets",state="in_sync"\} \d/m);
  assert.match(metrics, /^klutch_credential_expiration_timestamp_seconds\{host="127\.0\.0\.1:\d+"\} \d{10}/m);
  assert.match(
    metrics,
    /^controller_runtime_reconcile_total\{controller="sync widgets\.\S+",result="success"\} \d/m,
  );
});

test("the metrics are those of the catalogue", async () => {
  const response = await fetch(`http://127.0.0.1:${konnector.probePort}/metrics`);
  assert.deepEqual(metricNames(await response.text()), documentedMetrics("konnector"));
});
