/** The konnector between two real API servers: permission claims of every kind, isolation modes, warnings, long names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  type AnsweredPermissionClaim,
  apiServiceBindings,
  apiServiceExports,
  binderName,
  binderPolicyManifests,
  consumerNamespace,
  fieldManager,
  offerVerb,
  type PermissionClaim,
  resourceOwnerAnnotation,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
} from "@klutch/api";
import {
  configMaps,
  type DynamicObject,
  events,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { isForbidden } from "@klutch/kube";
import {
  applyPolicies,
  installRights,
  roleBindingObject,
  roleObject,
  secretObject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { exportCrd, grantUsualClaims, installCrd, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const parts = testApi("parts", "Part");
const racks = testApi("racks", "Rack");
const regions = testApi("regions", "Region", { namespaced: false });
const globals = testApi("globals", "Global", { namespaced: false });
const all = { names: ["*"], namespaces: ["*"] };
const claimed: readonly PermissionClaim[] = [
  {
    group: "",
    resource: "secrets",
    version: "v1",
    required: true,
    selector: { ...all, owner: "Provider", labelSelectors: [{ share: "yes" }] },
  },
  {
    group: "",
    resource: "configmaps",
    version: "v1",
    selector: { ...all, owner: "Consumer", fieldSelectors: ["metadata.name!=private"] },
  },
  { group: parts.type.group, resource: "parts", version: "v1", selector: { ...all, owner: "Provider" } },
  { group: parts.type.group, resource: "regions", version: "v1", selector: { ...all, owner: "Provider" } },
];
const fixture = await startTenantFixture({
  exported: [{ ...widgets, exportSpec: { informerScope: "Cluster" }, claims: claimed }],
  installed: [parts, racks, regions, globals],
  clusterWide: true,
});
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
const { binding, untilReady, untilReason, create } = fixture;
for (const { crd } of [parts, regions]) await installCrd(consumer, crd);
await grantUsualClaims(provider);
const konnector = cleanup.use(await startKonnector(fixture));

const answer = (state: "Accepted" | "Rejected", claims = claimed): readonly AnsweredPermissionClaim[] =>
  claims.map((claim) => ({ ...claim, state }));
const answerNow = async (permissionClaims: readonly AnsweredPermissionClaim[]): Promise<void> => {
  const ref = { namespace: consumerNamespace, name: widgets.name };
  await consumer.client.mergePatch(apiServiceBindings, ref, { spec: { permissionClaims } });
};

test("a rejected required claim stops the binding, and accepting it starts it at once", async () => {
  // The rights are those of accepted claims, so that only the answer decides.
  await bindApi(fixture, widgets.name, kubeconfig, answer("Accepted"));
  await untilReady(widgets.name);
  await answerNow(answer("Rejected"));
  const message = await untilReason(widgets.name, "PermissionClaimsValid", "RequiredClaimRejected");
  assert.match(message, /secrets \(rejected\)/);
  await waitFor("the sync to stop", () => konnector.watches.length > 0);
  await create(widgets.type, widget(widgets.type, "one", {}));
  assert.equal(await onProvider(widgets.type, "one"), undefined);
  await answerNow(answer("Accepted"));
  await waitFor("the sync to start", () => onProvider(widgets.type, "one"));
  await untilReady(widgets.name);
});

const namespace = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
});

const createShared = async (namespace: string, name: string): Promise<void> => {
  const secret = secretObject(namespace, name, { a: "1" });
  const metadata = { ...secret.metadata, labels: { share: "yes" } };
  await provider.client.create(secrets, { ...secret, metadata });
};

test("only what the claim's label and field selectors name crosses", async () => {
  await createShared(serviceNamespace, "shared");
  await provider.client.create(secrets, secretObject(serviceNamespace, "hidden", { a: "1" }));
  const map = (name: string): DynamicObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "app", name },
    data: { a: "1" },
  });
  await consumer.client.create(configMaps, map("private"));
  await consumer.client.create(configMaps, map("public"));
  await waitFor("the Secret in the app cluster", () => onConsumer(secrets, "shared"));
  await waitFor("the ConfigMap on the provider", () => onProvider(configMaps, "public"));
  assert.equal(await onConsumer(secrets, "hidden"), undefined);
  assert.equal(await onProvider(configMaps, "private"), undefined);
});

test("what the provider had in a namespace before it was mapped comes down then", async () => {
  const mirror = serviceNamespaceName(tenantNamespace, "later");
  await provider.client.create(namespaces, namespace(mirror));
  await createShared(mirror, "early");
  await createShared(serviceNamespace, "next");
  await waitFor("the agent to have seen both", () => onConsumer(secrets, "next"));
  await consumer.client.create(namespaces, namespace("later"));
  await create(widgets.type, widget(widgets.type, "first", {}, { namespace: "later" }));
  const copy = { namespace: "later", name: "early" };
  await waitFor("the Secret", () => consumer.client.find(secrets, copy));
});

test("any kind can be claimed: a custom resource comes down with its status", async () => {
  await provider.client.create(parts.type, {
    ...widget(parts.type, "bolt", { size: 3, extra: true }),
    metadata: { namespace: serviceNamespace, name: "bolt" },
  });
  const key = { namespace: serviceNamespace, name: "bolt" };
  await provider.client.mergePatch(parts.type, key, { status: { phase: "Made" } }, { subresource: "status" });
  const copy = await waitFor("the copy with its status", async () => {
    const found = await onConsumer(parts.type, "bolt");
    return found?.status === undefined ? undefined : found;
  });
  assert.deepEqual(copy["spec"], { size: 3, extra: true });
  assert.equal(copy.metadata.annotations?.[resourceOwnerAnnotation], "Provider");
  await provider.client.mergePatch(parts.type, key, { spec: { extra: null } });
  await waitFor("the removed field to go", async () => {
    const found = await onConsumer(parts.type, "bolt");
    return (found?.["spec"] as { extra?: boolean } | undefined)?.extra === undefined;
  });
});

test("a cluster-scoped claimed object comes down under its own name, another tenant's does not", async () => {
  const mark = (tenant: string): object => ({ "klutch.anynines.com/cluster-namespace": tenant });
  const region = (name: string, tenant: string): DynamicObject => ({
    ...widget(regions.type, name, { zone: 1 }),
    metadata: { name, annotations: mark(tenant) as Record<string, string> },
  });
  await provider.client.create(regions.type, region(`${tenantNamespace}-north`, tenantNamespace));
  await provider.client.create(regions.type, region("cluster-other-south", "cluster-other"));
  const copy = await waitFor("the copy", () => onConsumer(regions.type, "north"));
  assert.deepEqual(copy["spec"], { zone: 1 });
  assert.equal(await onConsumer(regions.type, "south"), undefined);
});

test("the binding reports accepted claims that cannot be honoured, with field and value", async () => {
  const wrong: readonly PermissionClaim[] = [
    ...claimed.slice(0, 1),
    {
      resource: "configmaps",
      version: "v1",
      selector: { ...all, owner: "Consumer" },
      update: { fields: ["spec[0]"] },
    },
    { group: "nowhere.example", resource: "ghosts", version: "v1" },
  ];
  const ref = { namespace: tenantNamespace, name: widgets.name };
  await provider.client.mergePatch(apiServiceExports, ref, { spec: { permissionClaims: wrong } });
  await answerNow(answer("Accepted", wrong));
  const message = await untilReason(widgets.name, "PermissionClaimsValid", "ClaimCannotBeHonoured");
  assert.match(message, /configmaps: update\.fields has "spec\[0\]", expected a path/);
  assert.match(message, /ghosts: this cluster does not serve ghosts of nowhere\.example\/v1/);
  await create(widgets.type, widget(widgets.type, "still", {}));
  await waitFor("the rest to work on", () => onProvider(widgets.type, "still"));
});

test("isolation Namespaced puts cluster-scoped objects into the cluster namespace, None keeps their names", async () => {
  await exportCrd(provider, racks.crd, {
    scope: "Cluster",
    informerScope: "Cluster",
    clusterScopedIsolation: "Namespaced",
  });
  await exportCrd(provider, globals.crd, { informerScope: "Cluster", clusterScopedIsolation: "None" });
  for (const { name } of [racks, globals]) await bindApi(fixture, name, kubeconfig);
  for (const { name } of [racks, globals]) await untilReady(name);
  const local = { ...racks.type, namespaced: false };
  await create(local, widget(local, "first", { units: 42 }));
  const key = { namespace: tenantNamespace, name: "first" };
  await waitFor("the rack", () => provider.client.find(racks.type, key));
  await provider.client.mergePatch(racks.type, key, { status: { ok: true } }, { subresource: "status" });
  await waitFor("its status", async () => (await onConsumer(local, "first"))?.status);
  await consumer.client.delete(local, { name: "first" });
  await waitFor(
    "both to be gone",
    async () =>
      (await provider.client.find(racks.type, key)) === undefined &&
      (await onConsumer(local, "first")) === undefined,
  );
  await create(globals.type, widget(globals.type, "fixture", { a: 1 }));
  const plain = await waitFor("the global", () =>
    provider.client.find<DynamicObject>(globals.type, { name: "fixture" }),
  );
  assert.equal(plain.metadata.annotations?.["klutch.anynines.com/cluster-namespace"], tenantNamespace);
  await provider.client.create(globals.type, widget(globals.type, "theirs", { a: 2 }));
  await create(globals.type, widget(globals.type, "theirs", { a: 3 }));
  await waitFor("the conflict to be told", () => eventOf("theirs", "NameTaken"));
  assert.deepEqual((await provider.client.get<DynamicObject>(globals.type, { name: "theirs" }))["spec"], {
    a: 2,
  });
});

test("a warning about the upstream object is told on the claim", async () => {
  const upstream = await onProvider(widgets.type, "one");
  const involvedObject = {
    apiVersion: "test.klutch.example/v1",
    kind: "Widget",
    namespace: serviceNamespace,
    name: "one",
    uid: upstream?.metadata.uid,
  };
  await waitFor("the warning", async () => {
    await provider.client.create<DynamicObject>(events, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: serviceNamespace, generateName: "one." },
      involvedObject,
      type: "Warning",
      reason: "QuotaExceeded",
      message: "no more disks",
      source: { component: "test" },
    });
    return eventOf("one", "QuotaExceeded");
  });
  assert.match(
    String((await eventOf("one", "QuotaExceeded"))?.["message"]),
    /on the provider: no more disks/,
  );
});

test("a warning that speaks of a missing object says which namespace of the app cluster has one, and no word of others", async () => {
  const said = async (reason: string, related: object): Promise<string> => {
    const involvedObject = {
      apiVersion: "test.klutch.example/v1",
      kind: "Widget",
      namespace: serviceNamespace,
      name: "one",
    };
    const found = await waitFor("the warning", async () => {
      await provider.client.create<DynamicObject>(events, {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace: serviceNamespace, generateName: "one." },
        involvedObject,
        related,
        type: "Warning",
        reason,
        message: "not found",
        source: { component: "test" },
      });
      return eventOf("one", reason);
    });
    return String(found["message"]);
  };
  await consumer.client.create(namespaces, namespace("shop"));
  await create(widgets.type, widget(widgets.type, "orders", {}, { namespace: "shop" }));
  await waitFor("it on the provider", async () => {
    const { items } = await provider.client.list<DynamicObject>(widgets.type);
    return items.some(({ metadata }) => metadata.name === "orders");
  });
  // Of another tenant.
  await provider.client.create(namespaces, namespace("cluster-other-shop"));
  const theirs = widget(widgets.type, "theirs", {}, { namespace: "cluster-other-shop" });
  await provider.client.create(widgets.type, theirs);
  const plain = "on the provider: not found";
  assert.equal(
    await said("Elsewhere", { kind: "dget", name: "orders" }),
    `${plain}; namespace shop has one of this name, but a claim can name only those of its own namespace`,
  );
  assert.equal(await said("OfAnotherTenant", { kind: "dget", name: "theirs" }), plain);
  assert.equal(await said("OfAnotherKind", { kind: "Instance", name: "orders" }), plain);
  assert.equal(await said("InItsOwn", { kind: "Widget", name: "one" }), plain);
  await consumer.client.delete(widgets.type, { namespace: "shop", name: "orders" });
});

async function eventOf(name: string, reason: string): Promise<DynamicObject | undefined> {
  for await (const event of consumer.client.listAll<DynamicObject>(events)) {
    const about = event["involvedObject"] as { name?: string };
    if (about.name === name && event["reason"] === reason) return event;
  }
  return undefined;
}

test("a namespace whose mirror would have too long a name is mapped, and its objects cross", async () => {
  const long = "n".repeat(60);
  await consumer.client.create(namespaces, namespace(long));
  await create(widgets.type, widget(widgets.type, "far", {}, { namespace: long }));
  const found = await waitFor("it on the provider", async () => {
    const page = await provider.client.list<DynamicObject>(widgets.type);
    return page.items.find(({ metadata }) => metadata.name === "far");
  });
  assert.ok((found.metadata.namespace ?? "").length <= 63);
  assert.ok((await binding(widgets.name)) !== undefined);
});

test("labels and annotations on which tools of the control plane act stay out of it, and the rest of the object crosses", async () => {
  const ref = { namespace: tenantNamespace, name: widgets.name };
  await provider.client.mergePatch(apiServiceExports, ref, { spec: { permissionClaims: claimed } });
  await answerNow(answer("Accepted"));
  const map = (name: string, metadata: object, data = { a: "1" }): DynamicObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "app", name, ...metadata },
    data,
  });
  // A copy with such a label that the agent wrote before the control plane refused it.
  await consumer.client.create(configMaps, map("earlier", {}));
  const { metadata, ...fields } = await waitFor("the copy", () => onProvider(configMaps, "earlier"));
  const { name, namespace, annotations, labels } = metadata;
  const copy = {
    ...fields,
    metadata: { name, namespace, annotations, labels: { ...labels, grafana_dashboard: "1" } },
  };
  await provider.client.apply(configMaps, copy, { fieldManager, force: true });
  await confineTenant();
  const acting = {
    labels: { team: "a", "argocd.argoproj.io/secret-type": "cluster", owner: "helm" },
    annotations: {
      note: "b",
      "crossplane.io/paused": "true",
      "replicator.v1.mittwald.de/replicate-to": "kube-system",
    },
  };
  await consumer.client.create(configMaps, map("acting", acting));
  const crossed = await waitFor("the ConfigMap on the provider", () => onProvider(configMaps, "acting"));
  const keysOf = (object: DynamicObject, keys: object): readonly string[] =>
    Object.keys(keys).filter((key) =>
      [object.metadata.labels, object.metadata.annotations].some((entries) => key in (entries ?? {})),
    );
  const all = { ...acting.labels, ...acting.annotations };
  assert.deepEqual(keysOf(crossed, all), ["team", "note"]);
  await create(widgets.type, widget(widgets.type, "acting", {}, acting));
  const bound = await waitFor("the claim on the provider", () => onProvider(widgets.type, "acting"));
  assert.deepEqual(keysOf(bound, { "crossplane.io/paused": "" }), []);
  await consumer.client.mergePatch(configMaps, { namespace: "app", name: "earlier" }, { data: { a: "2" } });
  const changed = await waitFor("the change of the earlier copy", async () => {
    const found = await onProvider(configMaps, "earlier");
    return isDeepStrictEqual(found?.["data"], { a: "2" }) ? found : undefined;
  });
  assert.equal(changed.metadata.labels?.["grafana_dashboard"], "1");
});

/** Puts the policy of app clusters' accounts in force, with everything on the list of offers. */
async function confineTenant(): Promise<void> {
  const { client } = provider;
  const mark = { [serviceNamespaceAnnotation]: `${tenantNamespace}/app` };
  await client.mergePatch(namespaces, { name: serviceNamespace }, { metadata: { annotations: mark } });
  const offers = [{ apiGroups: ["*"], resources: ["*"], verbs: [offerVerb] }];
  const account = { namespace: "klutch-backend", name: "klutch-backend" };
  await installRights(client, [
    roleObject({ name: "offers" }, offers),
    roleBindingObject({ name: "offers" }, { kind: "ClusterRole", name: "offers" }, account),
  ]);
  await applyPolicies(client, binderPolicyManifests);
  await using tenant = unlimitedClient(provider, { namespace: tenantNamespace, name: binderName });
  const probe = secretObject("default", "probe", {});
  await waitFor("the policy to be in force", () =>
    tenant.create(secrets, probe, { dryRun: true }).then(() => false, isForbidden),
  );
}
