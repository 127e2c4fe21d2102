/** A cluster that a Go konnector of version 1.5 served is taken over: same names, marks and finalizer, and not one write upstream. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AnsweredPermissionClaim,
  apiServiceBindingCrd,
  apiServiceBindings,
  apiServiceNamespaces,
  bindingRoleManifests,
  bindingRoleName,
  bindingRules,
  boundAnnotation,
  clusterNamespaceAnnotation,
  consumerNamespace,
  fieldManager,
  resourceOwnerAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  events,
  isTrue,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { installCrd, providerSecrets, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { startKonnector, testApi, widget } from "../testing/fixture.ts";

const asKonnector = { fieldManager: "konnector" };
const kubeconfigRef = { namespace: consumerNamespace, name: "kubeconfig-x7k2p" };
const widgets = testApi("widgets", "Widget");
const zones = testApi("zones", "Zone", { namespaced: false });
const regions = testApi("regions", "Region", { namespaced: false });
const clusterScoped = [
  { ...zones, isolation: "None" },
  { ...regions, isolation: "Namespaced" },
] as const;
const fixture = await startTenantFixture({
  exported: [
    { ...widgets, claims: [providerSecrets] },
    ...clusterScoped.map(({ isolation, ...api }) => ({
      ...api,
      exportSpec: { informerScope: "Cluster", clusterScopedIsolation: isolation } as const,
    })),
  ],
  clusterWide: true,
});
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
await leaveBehind();
for (const api of clusterScoped) await leaveClusterScoped(api);
const before = {
  widget: await onProvider(widgets.type, "old"),
  secret: await provider.client.get<DynamicObject>(secrets, { namespace: serviceNamespace, name: "creds" }),
};
const konnector = cleanup.use(await startKonnector(fixture));

/** A binding as such a konnector and its plugin leave it, with its CRD, and our rights. */
async function leaveBinding(
  { name, type, crd }: typeof widgets,
  claims: readonly AnsweredPermissionClaim[],
): Promise<void> {
  const bound = await consumer.client.create<KubeObject>(
    { ...apiServiceBindings, namespaced: false },
    {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      metadata: { name },
      spec: { kubeconfigSecretRef: { ...kubeconfigRef, key: "kubeconfig" }, permissionClaims: claims },
    },
  );
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name,
    uid: bound.metadata.uid ?? "",
    controller: true,
  };
  await installCrd(consumer, { ...crd, metadata: { name, ownerReferences: [owner] } });
  const rules = bindingRules({ group: type.group, resource: type.plural }, claims);
  for (const manifest of bindingRoleManifests(bindingRoleName(name), rules)) {
    const role = [clusterRoles, clusterRoleBindings].find(({ kind }) => kind === manifest.kind);
    if (role !== undefined)
      await consumer.client.apply(role, manifest, { fieldManager: "test", force: true });
  }
}

/**
 * Cluster-scoped objects, which such a konnector prefixes whatever isolation the export names: `north` with its claim, `ghost` whose
 * claim went while no one looked, and `twin`, for which an earlier version of ours made a second one.
 */
async function leaveClusterScoped(api: (typeof clusterScoped)[number]): Promise<void> {
  await leaveBinding(api, []);
  const { uid = "" } = (await provider.client.get(namespaces, { name: tenantNamespace })).metadata;
  const metadata = {
    annotations: { [boundAnnotation]: "true", [clusterNamespaceAnnotation]: tenantNamespace },
    ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: tenantNamespace, uid }],
  };
  const marks = { annotations: { [boundAnnotation]: "true" }, finalizers: [syncerFinalizer] };
  for (const name of ["north", "ghost", "twin"]) {
    const made = widget(api.type, `${tenantNamespace}-${name}`, { size: 3 }, metadata);
    await provider.client.create(api.type, made, asKonnector);
    if (name === "ghost") continue;
    await consumer.client.create(api.type, widget(api.type, name, { size: 3 }, marks), asKonnector);
  }
  await provider.client.apply(api.type, widget(api.type, "twin", { size: 3 }, metadata), { fieldManager });
}

/** Makes the objects that a Go konnector leaves behind: its marks, its field manager, its names. */
async function leaveBehind(): Promise<void> {
  await installCrd(consumer, {
    ...apiServiceBindingCrd,
    spec: { ...(apiServiceBindingCrd.spec as object), scope: "Cluster" },
  });
  const { namespace, name } = kubeconfigRef;
  await consumer.client.create(secrets, secretObject(namespace, name, { kubeconfig }));
  await leaveBinding(widgets, [{ ...providerSecrets, state: "Accepted" }]);
  await provider.client.create<DynamicObject>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenantNamespace, name: "app" },
    spec: {},
  });
  const metadata = { labels: { team: "a" }, annotations: { [boundAnnotation]: "true" } };
  await waitFor("the service namespace", () =>
    provider.client.create(
      widgets.type,
      widget(widgets.type, "old", { size: 3, color: "red" }, { ...metadata, namespace: serviceNamespace }),
      asKonnector,
    ),
  );
  const key = { namespace: serviceNamespace, name: "old" };
  await provider.client.mergePatch(
    widgets.type,
    key,
    { spec: { resourceRef: "xr" } },
    { fieldManager: "crossplane" },
  );
  const status = { phase: "Ready" };
  await provider.client.mergePatch(widgets.type, key, { status }, { subresource: "status" });
  await consumer.client.create(
    widgets.type,
    widget(widgets.type, "old", { size: 3, color: "red" }, { ...metadata, finalizers: [syncerFinalizer] }),
    asKonnector,
  );
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "old" },
    { status },
    { subresource: "status", ...asKonnector },
  );
  const mark = { annotations: { [resourceOwnerAnnotation]: "Provider" } };
  for (const [client, namespace] of [
    [provider.client, serviceNamespace],
    [consumer.client, "app"],
  ] as const) {
    const made = secretObject(namespace, "creds", { password: "p" });
    await client.create(secrets, { ...made, metadata: { ...made.metadata, ...mark } }, asKonnector);
  }
}

const untilReady = async (name: string): Promise<void> => {
  const type = { ...apiServiceBindings, namespaced: false };
  await waitFor(`binding ${name}`, async () =>
    isTrue(conditionsOf(await consumer.client.get<DynamicObject>(type, { name })), "Ready"),
  );
};

test("the binding becomes Ready, although its CRD is cluster-scoped", () => untilReady(widgets.name));

test("an upstream object that needs no change is not written", async () => {
  await waitFor("the Secret's copy to be marked as this provider's", async () => {
    const found = await onConsumer(secrets, "creds");
    return found?.metadata.labels !== undefined;
  });
  const upstream = konnector.writes.filter((write) => /^provider .* (widgets|secrets)$/.test(write));
  assert.deepEqual(upstream, []);
  const { metadata } = (await onProvider(widgets.type, "old")) ?? {};
  assert.equal(metadata?.resourceVersion, before.widget?.metadata.resourceVersion);
  const creds = await provider.client.get<DynamicObject>(secrets, {
    namespace: serviceNamespace,
    name: "creds",
  });
  assert.equal(creds.metadata.resourceVersion, before.secret.metadata.resourceVersion);
});

for (const { isolation, type, name: binding } of clusterScoped) {
  const prefixed = (name: string): Promise<DynamicObject | undefined> =>
    onProvider(type, `${tenantNamespace}-${name}`);
  const before = new Map<string, DynamicObject>();
  for (const name of ["north", "ghost", "twin"]) {
    const found = await prefixed(name);
    if (found !== undefined) before.set(name, found);
  }

  test(`isolation ${isolation}: the binding is not written while nothing happens`, async () => {
    const key = { ...apiServiceBindings, namespaced: false };
    const conditions = async (): Promise<ReturnType<typeof conditionsOf>> =>
      conditionsOf(await consumer.client.get<DynamicObject>(key, { name: binding }));
    await waitFor("the binding to be looked at", async () => isTrue(await conditions(), "SchemaInSync"));
    const ofBindings = (): number =>
      konnector.writes.filter((write) => write.endsWith(" apiservicebindings")).length;
    // What follows from the first look has come when other work that came later is done.
    let before = 0;
    for (let round = 0; round < 10; round++) {
      if (round === 5) before = ofBindings();
      const size = 10 + round;
      await consumer.client.mergePatch(widgets.type, { namespace: "app", name: "old" }, { spec: { size } });
      await waitFor("the change on the provider", async () => {
        const { spec } = (await onProvider(widgets.type, "old")) ?? {};
        return (spec as { size?: number } | undefined)?.size === size;
      });
    }
    assert.equal(ofBindings() - before, 0);
  });

  test(`isolation ${isolation}: prefixed originals go on to serve their claims, and only the one without a claim goes`, async () => {
    await untilReady(binding);
    await waitFor("the one without a claim to be gone", async () => (await prefixed("ghost")) === undefined);
    for (const name of ["north", "twin"]) {
      const now = await prefixed(name);
      assert.equal(now?.metadata.uid, before.get(name)?.metadata.uid, `${name} on the provider`);
      assert.equal(now?.metadata.deletionTimestamp, undefined);
    }
    assert.equal(await onProvider(type, "north"), undefined, "a second one was made");
    await consumer.client.mergePatch(type, { name: "north" }, { spec: { size: 4 } });
    await waitFor("the edit on the provider", async () => {
      const { spec } = (await prefixed("north")) ?? {};
      return (spec as { size?: number } | undefined)?.size === 4;
    });
    const status = { phase: "Ready" };
    await provider.client.mergePatch(
      type,
      { name: `${tenantNamespace}-north` },
      { status },
      { subresource: "status" },
    );
    await waitFor("the claim's status", async () => (await onConsumer(type, "north"))?.status);
    assert.equal(await onProvider(type, "north"), undefined, "a second one was made");
  });

  test(`isolation ${isolation}: a claim with two upstream objects keeps both and says so, until it is deleted`, async () => {
    assert.ok(await onProvider(type, "twin"));
    const told = await waitFor("the event", async () => {
      const found = await consumer.client.list<DynamicObject>(events);
      return found.items.find(
        (event) =>
          event["reason"] === "TwoUpstreamObjects" &&
          (event["involvedObject"] as { kind?: string }).kind === type.kind,
      );
    });
    assert.match(String(told["message"]), new RegExp(`${tenantNamespace}-twin and twin`));
  });

  test(`isolation ${isolation}: a claim that was taken over is deleted with its upstream object`, async () => {
    for (const name of ["north", "twin"]) await consumer.client.delete(type, { name });
    for (const name of ["north", "twin"]) {
      await waitFor(`${name} to be gone`, async () => (await onConsumer(type, name)) === undefined);
      assert.equal(await prefixed(name), undefined);
      assert.equal(await onProvider(type, name), undefined);
    }
  });
}

test("a field that the older konnector had synced is removed upstream when it is removed from the claim", async () => {
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "old" },
    { spec: { color: null } },
  );
  const up = await waitFor("the removal", async () => {
    const found = await onProvider(widgets.type, "old");
    const spec = found?.["spec"] as { color?: string } | undefined;
    return spec?.color === undefined ? found : undefined;
  });
  assert.deepEqual(up["spec"], { size: 19, resourceRef: "xr" });
});

test("its claims can be deleted, down to the upstream object", async () => {
  await consumer.client.delete(widgets.type, { namespace: "app", name: "old" });
  await waitFor(
    "both to be gone",
    async () =>
      (await onProvider(widgets.type, "old")) === undefined &&
      (await onConsumer(widgets.type, "old")) === undefined,
  );
  await consumer.client.get<DynamicObject>(customResourceDefinitions, { name: widgets.name });
});
