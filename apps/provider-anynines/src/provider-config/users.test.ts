import assert from "node:assert/strict";
import { test } from "node:test";
import {
  managedServiceBindings,
  type ProviderConfig,
  providerConfigs,
  type ServiceInstance,
  serviceInstances,
} from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { hasUsers } from "./use.ts";
import { createUsersReconcile, inUseFinalizer, planUsers, type UsersOptions } from "./users.ts";
import { startVirtualProvider } from "../testing/virtual-provider.ts";
import { binding, configName, instance } from "../testing/fixture.ts";

const config: ProviderConfig = {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ProviderConfig",
  metadata: { name: configName },
  spec: {
    url: "https://broker.example",
    serviceType: "servicebroker",
    providerCredentials: { source: "None", username: {}, password: {} },
  },
};
const deletionTimestamp = "2026-01-01T00:00:00Z";
const userNamed = (name: string) => ({
  apiVersion: "v1",
  kind: "ServiceInstance",
  metadata: { name },
  spec: {},
});
const call = { signal: new AbortController().signal };

/** Returns the actions of the reconcile function on `seen` while the caches show no user. */
function reconcileSeen(
  options: Pick<UsersOptions, "client" | "clock" | "isUsed">,
  seen: ProviderConfig,
): ReturnType<Reconcile> {
  const reconcile = createUsersReconcile({
    ...options,
    type: providerConfigs,
    configOf: () => seen,
    usersOf: () => [],
    onInUse: () => undefined,
  });
  return reconcile(configName, { ...call, logger: silentLogger });
}

test("a ProviderConfig counts its users, stays while there are some, and goes with the last one", async (t) => {
  const { user, clock, inUse } = await startVirtualProvider(t, 0);
  const get = () => user.find<ProviderConfig>(providerConfigs, { name: configName });
  await user.create<ProviderConfig>(providerConfigs, config);
  for (const name of ["one", "two"]) await user.create(serviceInstances, instance(name));
  await clock.advance(5_000);
  assert.deepEqual((await get())?.metadata.finalizers, [inUseFinalizer]);
  assert.equal((await get())?.status?.users, 2);
  await user.delete(providerConfigs, { name: configName });
  await clock.advance(5_000);
  const condition = async () => {
    const found = findCondition((await get())?.status?.conditions, "Terminating");
    return [found?.status, found?.reason, found?.message];
  };
  const both =
    "the ProviderConfig is still used by 2 managed resources: ServiceInstance one, ServiceInstance two; delete them first. Nothing new is made with it";
  assert.deepEqual(await condition(), ["True", "InUse", both]);
  await user.delete(serviceInstances, { name: "two" });
  await clock.advance(5_000);
  assert.equal((await get())?.status?.users, 1);
  const last =
    "the ProviderConfig is still used by 1 managed resource: ServiceInstance one; delete them first. Nothing new is made with it";
  assert.deepEqual(await condition(), ["True", "InUse", last]);
  // Said once, not with each user that goes.
  assert.deepEqual(inUse, [both]);
  await user.delete(serviceInstances, { name: "one" });
  await clock.advance(5_000);
  assert.equal(await get(), undefined);
});

test("a resource that moves to another ProviderConfig keeps that one, and lets the former go", async (t) => {
  const { user, clock } = await startVirtualProvider(t, 0);
  const usersOf = async (name: string) =>
    (await user.get<ProviderConfig>(providerConfigs, { name })).status?.users;
  await user.create<ProviderConfig>(providerConfigs, config);
  await user.create<ProviderConfig>(providerConfigs, { ...config, metadata: { name: "other" } });
  await user.create(serviceInstances, instance("one"));
  await clock.advance(5_000);
  assert.deepEqual([await usersOf(configName), await usersOf("other")], [1, 0]);
  const spec = { providerConfigRef: { name: "other" } };
  await user.mergePatch(serviceInstances, { name: "one" }, { spec });
  await clock.advance(5_000);
  assert.deepEqual([await usersOf(configName), await usersOf("other")], [0, 1]);
});

test("a ProviderConfig that is being deleted makes nothing new, and goes on with what there is", async (t) => {
  const { user, clock, broker } = await startVirtualProvider(t, 0);
  await user.create<ProviderConfig>(providerConfigs, config);
  await user.create(serviceInstances, instance("old"));
  await clock.advance(5_000);
  await user.delete(providerConfigs, { name: configName });
  await clock.advance(1_000);
  await user.create(serviceInstances, instance("new"));
  await user.create(managedServiceBindings, binding("old-b", "old"));
  await clock.advance(10_000);
  for (const [type, name] of [
    [serviceInstances, "new"],
    [managedServiceBindings, "old-b"],
  ] as const) {
    const synced = findCondition(
      (await user.get<ServiceInstance>(type, { name })).status?.conditions,
      "Synced",
    );
    assert.deepEqual(
      [synced?.status, synced?.reason, synced?.message],
      [
        "False",
        "NoBroker",
        `connect failed: ProviderConfig ${configName} is being deleted: nothing new is made with it`,
      ],
    );
    await user.delete(type, { name });
  }
  const sent = (operation: string) => broker.calls.filter((one) => one.operation === operation).length;
  assert.deepEqual([sent("provision"), sent("bind")], [1, 0]);
  await user.delete(serviceInstances, { name: "old" });
  await clock.advance(10_000);
  assert.equal(sent("deprovision"), 1);
  assert.equal(await user.find(providerConfigs, { name: configName }), undefined);
});

test("what the caches do not show yet still keeps a ProviderConfig", async () => {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  for (const type of [serviceInstances, managedServiceBindings, providerConfigs])
    server.register({ type, statusSubresource: true });
  const client = server.client({ clusterName: "provider" });
  const metadata = { ...config.metadata, finalizers: [inUseFinalizer] };
  await client.create<ProviderConfig>(providerConfigs, { ...config, metadata });
  await client.create(serviceInstances, instance("unseen"));
  await client.delete(providerConfigs, { name: configName });
  const seen = await client.get<ProviderConfig>(providerConfigs, { name: configName });
  const isUsed: UsersOptions["isUsed"] = (key, options) =>
    hasUsers(client, [{ type: serviceInstances }, { type: managedServiceBindings }], key, options);
  const run = () => reconcileSeen({ client, clock, isUsed }, seen);
  assert.deepEqual(await run(), { requeueAfterMs: 1_000 });
  assert.ok(await client.find(providerConfigs, { name: configName }));
  await client.delete(serviceInstances, { name: "unseen" });
  assert.equal(await run(), undefined);
  assert.equal(await client.find(providerConfigs, { name: configName }), undefined);
});

test("finalizers of others that came meanwhile are never taken away", async () => {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  server.register({ type: providerConfigs, statusSubresource: true });
  const client = server.client({ clusterName: "provider" });
  const seen = await client.create<ProviderConfig>(providerConfigs, config);
  await client.mergePatch(providerConfigs, { name: configName }, { metadata: { finalizers: ["other"] } });
  await reconcileSeen({ client, clock, isUsed: () => Promise.resolve(false) }, seen);
  const { metadata } = await client.get(providerConfigs, { name: configName });
  assert.deepEqual(metadata.finalizers, ["other"]);
});

test("finalizers of others stay, and one that was deleted before it was protected goes", () => {
  const others = { ...config.metadata, finalizers: ["a", "b"] };
  assert.deepEqual(planUsers({ ...config, metadata: others }, [], 0), {
    kind: "protect",
    finalizers: ["a", "b", inUseFinalizer],
  });
  const deleted = { ...others, deletionTimestamp };
  assert.equal(planUsers({ ...config, metadata: deleted }, [userNamed("a")], 0), undefined);
  const ours = { ...deleted, finalizers: ["a", inUseFinalizer, "b"] };
  assert.deepEqual(planUsers({ ...config, metadata: ours }, [], 0), {
    kind: "release",
    finalizers: ["a", "b"],
  });
});

test("of many users three are named", () => {
  const metadata = { name: configName, finalizers: [inUseFinalizer], deletionTimestamp };
  const users = ["e", "d", "c", "b", "a"].map(userNamed);
  const plan = planUsers({ ...config, metadata }, users, 0);
  assert.equal(
    plan?.kind === "hold" ? plan.message : "",
    "the ProviderConfig is still used by 5 managed resources: ServiceInstance a, ServiceInstance b, ServiceInstance c and 2 more; delete them first. Nothing new is made with it",
  );
});

test("the condition of one that is in use says for which generation it holds", () => {
  for (const generation of [7, undefined]) {
    const metadata = { name: configName, finalizers: [inUseFinalizer], deletionTimestamp, generation };
    const plan = planUsers({ ...config, metadata }, [userNamed("a")], 0);
    const conditions = plan?.kind === "hold" ? plan.status?.conditions : undefined;
    assert.equal(findCondition(conditions, "Terminating")?.observedGeneration, generation);
  }
});
