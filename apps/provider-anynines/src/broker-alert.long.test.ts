/** One alert from its fault to its end, in a real Prometheus. Each run of the tests has the same expressions in promtool (tools/alerts). */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { clusterProviderConfigs, providerConfigs } from "@klutch/api";
import { startAlertWatch } from "@klutch/kube-testing";
import { configName, startFixture } from "./testing/fixture.ts";
import { startProviderProcess } from "./testing/provider-process.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("broker-alert"));
const folder = await mkdtemp(join(tmpdir(), "klutch-broker-alert-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const provider = stack.use(await startProviderProcess(folder, fixture.kubeconfig));

test("a broker that does not answer makes its alert fire, and one that answers again ends it", async () => {
  await using watch = await startAlertWatch({ ports: { provider: [provider.port] }, fasterBy: 150 });
  await watch.settles();
  assert.deepEqual(await watch.active(), [], "no alert without a fault");
  // Health is looked at again at once when the ProviderConfig changes, else every three minutes.
  const look = async (times: string): Promise<void> => {
    const spec = { healthCheckEndpoint: `/healthz?${times}` };
    for (const type of [providerConfigs, clusterProviderConfigs])
      await fixture.client.mergePatch(type, { name: configName }, { spec });
  };
  fixture.front.lie = () => ({ status: 500, body: "", comes: "end" });
  await look("down");
  const labels = await watch.fires("KlutchBrokerDown");
  assert.equal(labels["config"], configName);
  assert.equal(labels["severity"], "critical");
  fixture.front.lie = undefined;
  await look("up");
  await watch.clears("KlutchBrokerDown");
});
