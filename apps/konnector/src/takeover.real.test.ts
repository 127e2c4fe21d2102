/** A cluster that a Go konnector of version 1.5 served is taken over: same names, marks and finalizer, and not one write upstream. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  apiServiceNamespaces,
  bindingRoleManifests,
  bindingRoleName,
  bindingRules,
  boundAnnotation,
  clusterRoleBindings,
  clusterRoles,
  consumerNamespace,
  customResourceDefinitions,
  isTrue,
  resourceOwnerAnnotation,
  secrets,
  syncerFinalizer,
} from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { conditionsOf } from "./decode.ts";
import { pairOf, serviceNamespace } from "./testing/pair.ts";
import { exportCrd, installCrd, prepareTenant, tenantNamespace } from "./testing/provider-side.ts";
import { startKonnector, startWorld, testApi, widget } from "./testing/world.ts";

const world = await startWorld();
const { consumer, provider } = world;
const { above, below } = pairOf(world);
const widgets = testApi("widgets", "Widget");
const claim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { owner: "Provider", names: ["*"], namespaces: ["*"] },
} as const;
await installCrd(provider, widgets.crd);
const kubeconfig = await prepareTenant(provider, ["widgets"]);
await exportCrd(provider, widgets.crd, {}, [claim]);
await leaveBehind();
const before = {
  widget: await above(widgets.type, "old"),
  secret: await provider.client.get<DynamicObject>(secrets, { namespace: serviceNamespace, name: "creds" }),
};
const konnector = await startKonnector(world);
after(async () => {
  await konnector[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** What such a konnector leaves behind (reference/bind.md §1.10, §4.8, §4.9). */
async function leaveBehind(): Promise<void> {
  await installCrd(consumer, {
    ...apiServiceBindingCrd,
    spec: { ...(apiServiceBindingCrd.spec as object), scope: "Cluster" },
  });
  const ref = { namespace: consumerNamespace, name: "kubeconfig-x7k2p" };
  await consumer.client.create(secrets, secretObject(ref.namespace, ref.name, { kubeconfig }));
  const bound = await consumer.client.create<KubeObject>(
    { ...apiServiceBindings, namespaced: false },
    {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      metadata: { name: widgets.name },
      spec: {
        kubeconfigSecretRef: { ...ref, key: "kubeconfig" },
        permissionClaims: [{ ...claim, state: "Accepted" }],
      },
    },
  );
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name: widgets.name,
    uid: bound.metadata.uid ?? "",
    controller: true,
  };
  await installCrd(consumer, { ...widgets.crd, metadata: { name: widgets.name, ownerReferences: [owner] } });
  const rules = bindingRules({ group: widgets.type.group, resource: "widgets" }, [
    { ...claim, state: "Accepted" },
  ]);
  for (const manifest of bindingRoleManifests(bindingRoleName(widgets.name), rules)) {
    const type = [clusterRoles, clusterRoleBindings].find(({ kind }) => kind === manifest.kind);
    if (type !== undefined)
      await consumer.client.apply(type, manifest, { fieldManager: "test", force: true });
  }
  await provider.client.create<DynamicObject>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenantNamespace, name: "app" },
    spec: {},
  });
  const metadata = { labels: { team: "a" }, annotations: { [boundAnnotation]: "true" } };
  const asKonnector = { fieldManager: "konnector" };
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

test("the binding becomes Ready, although its CRD is cluster-scoped", async () => {
  const type = { ...apiServiceBindings, namespaced: false };
  await waitFor("the binding", async () =>
    isTrue(conditionsOf(await consumer.client.get<DynamicObject>(type, { name: widgets.name })), "Ready"),
  );
});

test("nothing is written upstream for what is as it should be", async () => {
  await waitFor("the Secret's copy to be marked as this provider's", async () => {
    const found = await below(secrets, "creds");
    return found?.metadata.labels !== undefined;
  });
  const upstream = konnector.writes.filter((write) => /^provider .* (widgets|secrets)$/.test(write));
  assert.deepEqual(upstream, []);
  const { metadata } = (await above(widgets.type, "old")) ?? {};
  assert.equal(metadata?.resourceVersion, before.widget?.metadata.resourceVersion);
  const creds = await provider.client.get<DynamicObject>(secrets, {
    namespace: serviceNamespace,
    name: "creds",
  });
  assert.equal(creds.metadata.resourceVersion, before.secret.metadata.resourceVersion);
});

test("B4: a field that the older konnector had brought up is removed when it is removed below", async () => {
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "old" },
    { spec: { color: null } },
  );
  const up = await waitFor("the removal", async () => {
    const found = await above(widgets.type, "old");
    const spec = found?.["spec"] as { color?: string } | undefined;
    return spec?.color === undefined ? found : undefined;
  });
  assert.deepEqual(up["spec"], { size: 3, resourceRef: "xr" });
});

test("its claims can be deleted, down to the upstream object", async () => {
  await consumer.client.delete(widgets.type, { namespace: "app", name: "old" });
  await waitFor(
    "both to be gone",
    async () =>
      (await above(widgets.type, "old")) === undefined && (await below(widgets.type, "old")) === undefined,
  );
  await consumer.client.get<DynamicObject>(customResourceDefinitions, { name: widgets.name });
});
