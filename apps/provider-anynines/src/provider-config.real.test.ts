import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  backups,
  managedServiceBindings,
  type ProviderConfig,
  providerConfigs,
  providerCrds,
  serviceInstances,
} from "@klutch/api";
import { createKubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { type DynamicObject, events, findCondition, type KubeObject, recordAt } from "@klutch/kube-core";
import {
  installedAccount,
  roleBindingObject,
  roleObject,
  serviceAccountObject,
  waitFor,
} from "@klutch/kube-testing";
import { inUseFinalizer } from "./provider-config/users.ts";
import { runProvider } from "./testing/run-provider.ts";
import { backup, binding, configName, instance, managerConfigName, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("provider-config", { throughFront: false }));
const { client } = fixture;
const ready = { type: "Ready", status: "True" };
const kubeconfig = await installedAccount(fixture.config, manifestsOfPackage());
const limited = stack.use(createKubeClient(parseForeignKubeconfig(kubeconfig, { namespace: "team" })));

/** The provider with no other rights than Crossplane's RBAC manager gives the account of a provider. */
const run = (): (() => Promise<void>) => runProvider({ client: limited, pollIntervalMs: 500, workers: 4 });

/** In the manner of Crossplane's RBAC manager. */
function manifestsOfPackage(): readonly KubeObject[] {
  const account = { namespace: "team", name: "provider" };
  const kinds = providerCrds.map(({ metadata }) => resourceIn(metadata.name));
  const rules = [
    ...kinds.map(({ group, plural }) => ({
      apiGroups: [group],
      resources: [plural, `${plural}/status`],
      verbs: ["get", "list", "watch", "update", "patch", "create"],
    })),
    {
      apiGroups: [...new Set(kinds.map(({ group }) => group))],
      resources: ["*/finalizers"],
      verbs: ["update"],
    },
    {
      apiGroups: ["", "coordination.k8s.io"],
      resources: ["secrets", "configmaps", "events", "leases"],
      verbs: ["*"],
    },
  ];
  const role = { kind: "ClusterRole", name: "provider" } as const;
  return [
    serviceAccountObject(account),
    roleObject({ name: role.name }, rules),
    roleBindingObject({ name: role.name }, role, account),
  ];
}

/** Splits the name of a CRD into plural and group. */
function resourceIn(crd: string): { readonly plural: string; readonly group: string } {
  const dot = crd.indexOf(".");
  return { plural: crd.slice(0, dot), group: crd.slice(dot + 1) };
}

const find = (name: string): Promise<ProviderConfig | undefined> =>
  client.find<ProviderConfig>(providerConfigs, { name });

async function terminating(name: string, message: RegExp): Promise<void> {
  await waitFor(`${name} to say by whom it is used`, async () => {
    const { status } = (await find(name)) ?? {};
    const found = findCondition(status?.conditions, "Terminating");
    return found?.reason === "InUse" && message.test(found.message ?? "");
  });
}

/** Waits for an event on the broker's ProviderConfig. */
async function event(type: "Normal" | "Warning", reason: string, message: RegExp): Promise<void> {
  await waitFor(`the event ${reason} on the ProviderConfig`, async () => {
    const { items } = await client.list<DynamicObject>(events, { namespace: "default" });
    return items.some(
      (one) =>
        one["reason"] === reason &&
        one["type"] === type &&
        message.test(String(one["message"])) &&
        recordAt(one, "involvedObject")["name"] === configName,
    );
  });
}

/** A ProviderConfig as the fixture made it, for the next test. */
async function again(name: string, spec: ProviderConfig["spec"]): Promise<void> {
  await client.create<ProviderConfig>(providerConfigs, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name },
    spec,
  });
}

test("a ProviderConfig that is deleted while it is used stays, says by whom, makes nothing new, and goes with the last user", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("one"));
    await client.create(managedServiceBindings, binding("one-b", "one"));
    await fixture.condition(managedServiceBindings, "one-b", ready);
    const { spec } = await waitFor("two users", async () => {
      const config = await find(configName);
      return config?.status?.users === 2 ? config : undefined;
    });
    assert.deepEqual((await find(configName))?.metadata.finalizers, [inUseFinalizer]);
    await client.delete(providerConfigs, { name: configName });
    await terminating(configName, /used by 2 managed resources: ServiceBinding one-b, ServiceInstance one;/);
    await event("Warning", "InUse", /^the ProviderConfig is still used by 2 managed resources/);
    await client.create(serviceInstances, instance("late"));
    const { reason, message } = await fixture.condition(serviceInstances, "late", {
      type: "Synced",
      status: "False",
    });
    assert.equal(reason, "NoBroker");
    assert.match(message, /is being deleted: nothing new is made with it/);
    // Those that were there go on.
    const credentials = await fixture.credentials("one-b");
    assert.deepEqual(await fixture.sql(credentials["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
    await client.delete(serviceInstances, { name: "late" });
    await client.delete(managedServiceBindings, { name: "one-b" });
    await fixture.gone(managedServiceBindings, { name: "one-b" });
    assert.ok(await find(configName));
    await client.delete(serviceInstances, { name: "one" });
    await fixture.gone(providerConfigs, { name: configName });
    assert.equal(await client.find(serviceInstances, { name: "one" }), undefined);
    assert.deepEqual(await fixture.databases(), []);
    await again(configName, spec);
  } finally {
    await stop();
  }
});

test("a ProviderConfig that was deleted by mistake can be made again, and what names it goes on", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("two"));
    await fixture.condition(serviceInstances, "two", ready);
    await client.delete(providerConfigs, { name: configName });
    await terminating(configName, /: ServiceInstance two;/);
    const { metadata, ...rest } = await client.get<ProviderConfig>(providerConfigs, { name: configName });
    await client.mergePatch(providerConfigs, { name: configName }, { metadata: { finalizers: null } });
    await fixture.gone(providerConfigs, { name: configName });
    // All that was read, but its version.
    const { resourceVersion: _, ...kept } = metadata;
    const made = await client.create<ProviderConfig>(providerConfigs, { ...rest, metadata: kept });
    assert.notEqual(made.metadata.uid, metadata.uid);
    assert.equal(made.metadata.deletionTimestamp, undefined);
    await client.create(managedServiceBindings, binding("two-b", "two"));
    await fixture.condition(managedServiceBindings, "two-b", ready);
    assert.equal((await fixture.databases()).length, 1);
    await client.delete(managedServiceBindings, { name: "two-b" });
    await client.delete(serviceInstances, { name: "two" });
    await fixture.gone(serviceInstances, { name: "two" });
  } finally {
    await stop();
  }
});

test("resources created while no provider runs keep their ProviderConfig, whichever was deleted first", async () => {
  const before = run();
  const { spec } = await waitFor("the ProviderConfig to be protected", async () => {
    const config = await find(managerConfigName);
    return config?.metadata.finalizers?.includes(inUseFinalizer) === true ? config : undefined;
  });
  await before();
  await client.create(backups, backup("kept", "nobody"));
  await client.delete(providerConfigs, { name: managerConfigName });
  assert.ok(await find(managerConfigName));
  const stop = run();
  try {
    await terminating(managerConfigName, /used by 1 managed resource: Backup kept;/);
    await client.delete(backups, { name: "kept" });
    await fixture.gone(providerConfigs, { name: managerConfigName });
    await again(managerConfigName, spec);
  } finally {
    await stop();
  }
});

test("a ProviderConfig says when its backend turns bad and when it is good again, and why", async () => {
  const healthy = (status: string, reason: string): Promise<string> =>
    waitFor(`Healthy to be ${status}`, async () => {
      const found = findCondition((await find(configName))?.status?.conditions, "Healthy");
      return found?.status === status && found.reason === reason ? (found.message ?? "-") : undefined;
    });
  const checkAgain = async (): Promise<void> => {
    const body = { status: { health: { lastCheckTime: null } } };
    await client.mergePatch(providerConfigs, { name: configName }, body, { subresource: "status" });
  };
  const stop = run();
  try {
    assert.equal(await healthy("True", "Available"), "-");
    await event("Normal", "CheckSuccess", /^ProviderConfig is now healthy$/);
    await fixture.broker.kill();
    await checkAgain();
    const message = await healthy("False", "BrokerUnreachable");
    await event("Warning", "CheckFailure", /^Health check failed: /);
    assert.equal((await find(configName))?.status?.health?.lastMessage, message);
    await fixture.broker.start();
    await client.mergePatch(
      providerConfigs,
      { name: configName },
      { spec: { healthCheckEndpoint: "/nowhere" } },
    );
    assert.match(await healthy("False", "Unhealthy"), /HTTP 404/);
    // A changed spec is checked at once.
    await client.mergePatch(
      providerConfigs,
      { name: configName },
      { spec: { healthCheckEndpoint: "/healthz" } },
    );
    await healthy("True", "Available");
  } finally {
    await stop();
  }
});

test("a ProviderConfig that nothing uses goes at once, and is protected again when it comes back", async () => {
  const stop = run();
  try {
    const protect = async (): Promise<ProviderConfig | undefined> => {
      const config = await find(configName);
      return config?.metadata.finalizers?.includes(inUseFinalizer) === true ? config : undefined;
    };
    const { spec } = await waitFor("the ProviderConfig to be protected", protect);
    await client.delete(providerConfigs, { name: configName });
    await fixture.gone(providerConfigs, { name: configName });
    await again(configName, spec);
    await waitFor("the new one to be protected", protect);
  } finally {
    await stop();
  }
});
