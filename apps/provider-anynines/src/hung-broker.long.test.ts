import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  instanceTypeLabel,
  managedServiceBindings,
  providerConfigs,
  regionLabel,
  serviceInstances,
} from "@klutch/api";
import { type DynamicObject, recordAt, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { startBroker } from "./testing/broker.ts";
import { startFront } from "./testing/front.ts";
import { binding, config, configName, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("hung-broker"));
const { client } = fixture;
/** Takes every request for an instance and never answers, which a real broker does not do on demand. */
const hung = stack.use(await startFront(() => fixture.broker.port));
const isOfInstances = ({ path }: { readonly path: string }): boolean =>
  path.startsWith("/v2/service_instances/");
hung.lie = (asked) => (isOfInstances(asked) ? { status: 200, body: "", comes: "nothing" } : undefined);

test("a broker that hangs delays none of the instances of another one", async () => {
  const { spec } = await client.get<DynamicObject>(providerConfigs, { name: configName });
  await client.create<DynamicObject>(providerConfigs, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: "hung" },
    spec: { ...recordAt(spec), url: `http://127.0.0.1:${hung.port}` },
  });
  // More than there are workers for one broker.
  const names = Array.from({ length: 20 }, (_, index) => `hung-${index}`);
  for (const name of names) {
    const object = instance(name);
    await client.create(serviceInstances, {
      ...object,
      spec: { ...recordAt(object, "spec"), providerConfigRef: { name: "hung" } },
    });
  }
  const stop = fixture.run();
  stack.defer(stop);
  const isCatalog = ({ path }: { readonly path: string }): boolean => path === "/v2/catalog";
  await waitFor(
    "the hung broker to have all it may have",
    () => hung.asked.filter(isOfInstances).length >= 4,
  );
  for (const name of ["good-a", "good-b", "good-c"]) {
    await client.create(serviceInstances, instance(name));
    await fixture.condition(serviceInstances, name, { type: "Ready", status: "True" });
  }
  // All of them and the health check needed it at the same time.
  assert.equal(hung.asked.filter(isCatalog).length, 1);
  // None of the first ones has ended, and no other one of the same broker was begun.
  assert.equal(hung.asked.filter(isOfInstances).length, 4);
  for (const name of ["good-a", "good-b", "good-c"]) {
    await client.delete(serviceInstances, { name });
    await fixture.gone(serviceInstances, { name });
  }
  assert.deepEqual(await fixture.databases(), []);
});

/** Returns the object as the composition function makes it in a region. */
function inRegion(object: DynamicObject, region: string, name: string): DynamicObject {
  const labels = { ...object.metadata.labels, [instanceTypeLabel]: "postgresql", [regionLabel]: region };
  return {
    ...object,
    metadata: { ...object.metadata, labels },
    spec: { ...recordAt(object, "spec"), providerConfigRef: { name } },
  };
}

test("two brokers of one service: a binding follows its instance, and while one is dead the other goes on", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-region-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const far = await startBroker(folder);
  t.after(() => far[Symbol.asyncDispose]());
  const spec = { url: `http://127.0.0.1:${far.port}`, serviceType: "servicebroker" };
  await client.create(providerConfigs, config(providerConfigs, "postgresql-far", spec));
  const isReady = { type: "Ready", status: "True" } as const;
  // The binding comes before the function sees where its instance is.
  await client.create(managedServiceBindings, binding("far-app", "far"));
  await client.create(serviceInstances, inRegion(instance("far"), "eu-2", "postgresql-far"));
  await client.create(serviceInstances, inRegion(instance("near"), "eu-1", configName));
  for (const name of ["far", "near"]) await fixture.condition(serviceInstances, name, isReady);
  await fixture.condition(managedServiceBindings, "far-app", {
    type: "Synced",
    status: "False",
    message:
      /the instance far is made by the ProviderConfig postgresql-far; the binding goes there within a minute/,
  });
  const { providerConfigRef } = recordAt(
    inRegion(binding("far-app", "far"), "eu-2", "postgresql-far"),
    "spec",
  );
  await client.mergePatch(managedServiceBindings, { name: "far-app" }, { spec: { providerConfigRef } });
  await fixture.condition(managedServiceBindings, "far-app", isReady);
  const { uri = "" } = await fixture.credentials("far-app");
  assert.equal(new URL(uri).port, String(far.postgres.port));
  assert.deepEqual(await fixture.sql(uri, "select 1 as one"), [{ one: 1 }]);
  const { length } = await fixture.databases();
  assert.equal(length, 1, "the first broker has the near instance only");

  await far.kill();
  await client.create(serviceInstances, inRegion(instance("far-late"), "eu-2", "postgresql-far"));
  await fixture.condition(serviceInstances, "far-late", { type: "Synced", status: "False" });
  await client.create(serviceInstances, inRegion(instance("near-late"), "eu-1", configName));
  await client.create(managedServiceBindings, inRegion(binding("near-app", "near"), "eu-1", configName));
  await fixture.condition(serviceInstances, "near-late", isReady);
  await fixture.condition(managedServiceBindings, "near-app", isReady);
  assert.deepEqual(await fixture.sql(uri, "select 1 as one"), [{ one: 1 }]);
  const late = await client.get<DynamicObject>(serviceInstances, { name: "far-late" });
  assert.equal(textAt(late, "spec", "providerConfigRef", "name"), "postgresql-far");

  // Retired while in use, it stays until its last instance has gone.
  await client.delete(providerConfigs, { name: "postgresql-far" });
  await fixture.condition(providerConfigs, "postgresql-far", {
    type: "Terminating",
    status: "True",
    message: /is still used by 3 managed resources: .*delete them first/,
  });
  await far.start();
  for (const name of ["far-app", "near-app"]) await client.delete(managedServiceBindings, { name });
  for (const name of ["far", "far-late", "near", "near-late"])
    await client.delete(serviceInstances, { name });
  for (const name of ["far", "far-late", "near", "near-late"]) await fixture.gone(serviceInstances, { name });
  await fixture.gone(providerConfigs, { name: "postgresql-far" });
  assert.deepEqual(await fixture.databases(), []);
});
