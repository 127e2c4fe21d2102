import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  clusterProviderConfigs,
  namespacedProviderConfigs,
  namespacedServiceInstances,
  type ProviderConfig,
} from "@klutch/api";
import {
  type DynamicObject,
  findCondition,
  namespaces,
  recordAt,
  type ResourceType,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { inUseFinalizer } from "./provider-config/users.ts";
import { namespacedOf, refIn, team } from "./testing/kinds.ts";
import { config, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("config-kinds", { controllerManager: true }));
const { client, front } = fixture;
const backend = { url: `http://127.0.0.1:${front.port}`, serviceType: "servicebroker" };
const kinds = [clusterProviderConfigs, namespacedProviderConfigs];

/** A namespaced instance that names the ProviderConfig `shared` of the kind. */
function naming({ kind }: ResourceType, name: string, namespace = team): DynamicObject {
  const made = namespacedOf(instance(name));
  const spec = { ...recordAt(made.spec), providerConfigRef: { kind, name: "shared" } };
  return { ...made, metadata: { ...made.metadata, namespace }, spec };
}

const find = (type: ResourceType): Promise<ProviderConfig | undefined> =>
  client.find<ProviderConfig>(type, refIn(type, "shared"));

for (const [index, type] of kinds.entries()) {
  const other = kinds[1 - index] ?? type;
  test(`a ${type.kind} is kept by its users, not by those of a ${other.kind} of the same name, and says how its backend is`, async () => {
    const stop = fixture.run();
    try {
      for (const each of kinds)
        if ((await find(each)) === undefined) await client.create(each, config(each, "shared", backend));
      await client.create(namespacedServiceInstances, naming(type, "user"));
      await fixture.condition(namespacedServiceInstances, "user", { type: "Ready", status: "True" });
      await waitFor("the number of users, and its health", async () => {
        const found = await find(type);
        const healthy = findCondition(found?.status?.conditions, "Healthy");
        return found?.status?.users === 1 && healthy?.reason === "Available";
      });
      assert.deepEqual((await find(type))?.metadata.finalizers, [inUseFinalizer]);
      for (const each of kinds) await client.delete(each, refIn(each, "shared"));
      await fixture.gone(other, refIn(other, "shared"));
      await waitFor("it to say by whom it is used", async () => {
        const { message = "" } = findCondition((await find(type))?.status?.conditions, "Terminating") ?? {};
        return message.startsWith(
          `the ${type.kind} is still used by 1 managed resource: ServiceInstance team/user;`,
        );
      });
      await client.create(namespacedServiceInstances, naming(type, "late"));
      const { reason, message } = await fixture.condition(namespacedServiceInstances, "late", {
        type: "Synced",
        status: "False",
      });
      assert.equal(reason, "NoBroker");
      assert.match(message, new RegExp(`${type.kind} (team/)?shared is being deleted: nothing new is made`));
      for (const name of ["late", "user"])
        await client.delete(namespacedServiceInstances, refIn(namespacedServiceInstances, name));
      await fixture.gone(type, refIn(type, "shared"));
      assert.deepEqual(await fixture.databases(), []);
    } finally {
      await stop();
    }
  });
}

test("a namespace that ends lets its instances go, also with a provider that started after its end began", async () => {
  const metadata = { name: "ending" };
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata });
  await client.create(clusterProviderConfigs, config(clusterProviderConfigs, "shared", backend));
  const before = fixture.run();
  const ref = { namespace: "ending", name: "last" };
  await client.create(namespacedServiceInstances, naming(clusterProviderConfigs, "last", "ending"));
  await waitFor("it to be made", async () => (await fixture.databases()).length === 1);
  await before();
  await client.delete(namespaces, metadata);
  await waitFor(
    "it to be deleted with its namespace",
    async () =>
      (await client.find(namespacedServiceInstances, ref))?.metadata.deletionTimestamp !== undefined,
  );
  const stop = fixture.run();
  try {
    await fixture.gone(namespacedServiceInstances, ref);
    assert.deepEqual(await fixture.databases(), []);
  } finally {
    await stop();
  }
});
