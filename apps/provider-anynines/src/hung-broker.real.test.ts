import assert from "node:assert/strict";
import { after, test } from "node:test";
import { providerConfigs, serviceInstances } from "@klutch/api";
import { type DynamicObject, recordAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { startFront } from "./testing/front.ts";
import { configName, instance, startFixture } from "./testing/fixture.ts";

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
