/** Alerts of the provider, made to fire in a real Prometheus by their faults at a real broker, and to clear by their ends. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { clusterProviderConfigs, providerConfigs, serviceInstances } from "@klutch/api";
import { startAlertWatch } from "@klutch/kube-testing";
import { configName, instance, startFixture } from "./testing/fixture.ts";
import { startProviderProcess } from "./testing/provider-process.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("provider-alerts"));
const { client, broker, front } = fixture;
const folder = await mkdtemp(join(tmpdir(), "klutch-provider-alerts-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const provider = stack.use(await startProviderProcess(folder, fixture.kubeconfig));
const watch = stack.use(await startAlertWatch({ ports: { provider: [provider.port] } }));
await watch.settles();
const ready = { type: "Ready", status: "True" };
/** Health is looked at again at once when the ProviderConfig changes, else every three minutes. */
async function look(times: string): Promise<void> {
  const spec = { healthCheckEndpoint: `/healthz?${times}` };
  for (const type of [providerConfigs, clusterProviderConfigs])
    await client.mergePatch(type, { name: configName }, { spec });
}

test("no alert fires while a database is made and used", async () => {
  await client.create(serviceInstances, instance("quiet"));
  await fixture.condition(serviceInstances, "quiet", ready);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  assert.deepEqual(await watch.active(), []);
});

test("KlutchManagedResourcesFail: the broker refuses what an instance asks for", async () => {
  const labels = await watch.seesFault(
    "KlutchManagedResourcesFail",
    () => client.create(serviceInstances, instance("bad", { planName: "no-such-plan" })),
    () => client.delete(serviceInstances, { name: "bad" }),
  );
  assert.equal(labels["kind"], "instance");
});

test("KlutchQueueStuck: the broker takes a request and does not answer", async () => {
  await watch.seesFault(
    "KlutchQueueStuck",
    async () => {
      front.lie = ({ path }) =>
        path.startsWith("/v2/service_instances") ? { status: 200, body: "", comes: "nothing" } : undefined;
      await client.create(serviceInstances, instance("stuck"));
    },
    async () => void (front.lie = undefined),
  );
  await fixture.condition(serviceInstances, "stuck", ready, 120_000);
});

test("KlutchBrokerDown and KlutchBrokerFails: the broker's process is killed", async () => {
  const labels = await watch.seesFault(
    "KlutchBrokerDown",
    async () => {
      await broker.kill();
      await look("down");
    },
    async () => {
      await watch.fires("KlutchBrokerFails", 120_000);
      await broker.start();
      await look("up");
    },
  );
  assert.equal(labels["config"], configName);
  await watch.clears("KlutchBrokerFails", 120_000);
});
