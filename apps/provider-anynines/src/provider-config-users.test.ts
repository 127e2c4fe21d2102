import assert from "node:assert/strict";
import { test } from "node:test";
import { type ProviderConfig, providerConfigs, serviceInstances } from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import { inUseFinalizer, planUsers } from "./provider-config-users.ts";
import { startVirtualProvider } from "./testing/virtual-provider.ts";
import { configName, instance } from "./testing/world.ts";

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

test("a ProviderConfig counts its users, stays while there are some, and goes with the last one", async (t) => {
  const { user, clock, inUse } = await startVirtualProvider(t, 0);
  const get = () => user.find<ProviderConfig>(providerConfigs, { name: configName });
  await user.create<ProviderConfig>(providerConfigs, config);
  for (const name of ["one", "two"]) await user.create(serviceInstances, instance(name));
  await clock.advance(5_000);
  assert.deepEqual((await get())?.metadata.finalizers, [inUseFinalizer]);
  assert.equal((await get())?.status?.users, 2);
  await user.delete(serviceInstances, { name: "two" });
  await clock.advance(5_000);
  assert.equal((await get())?.status?.users, 1);
  await user.delete(providerConfigs, { name: configName });
  await clock.advance(5_000);
  const message = "the ProviderConfig is still used by 1 managed resources; delete these first";
  const terminating = findCondition((await get())?.status?.conditions, "Terminating");
  assert.deepEqual(
    [terminating?.status, terminating?.reason, terminating?.message],
    ["True", "InUse", message],
  );
  assert.deepEqual(inUse, [message]);
  await user.delete(serviceInstances, { name: "one" });
  await clock.advance(5_000);
  assert.equal(await get(), undefined);
});

test("finalizers of others stay, and one that was deleted before it was protected goes", () => {
  const others = { ...config.metadata, finalizers: ["a", "b"] };
  assert.deepEqual(planUsers({ ...config, metadata: others }, 0, 0), {
    kind: "protect",
    finalizers: ["a", "b", inUseFinalizer],
  });
  const deleted = { ...others, deletionTimestamp: "2026-01-01T00:00:00Z" };
  assert.equal(planUsers({ ...config, metadata: deleted }, 3, 0), undefined);
  const ours = { ...deleted, finalizers: ["a", inUseFinalizer, "b"] };
  assert.deepEqual(planUsers({ ...config, metadata: ours }, 0, 0), {
    kind: "release",
    finalizers: ["a", "b"],
  });
});
