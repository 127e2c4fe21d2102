/**
 * The control plane's API server answers half of all requests with 429: work takes longer, and none of it is lost or done twice. A real server does so
 * by priority and fairness, and not on demand, so a proxy does it here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { recordAt } from "@klutch/kube-core";
import { startFaultProxy, waitFor } from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const { type } = widgets;
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, kubeconfig, cleanup } = fixture;
const { create, onConsumer, onProvider, untilReady } = fixture;
const proxy = cleanup.use(await startFaultProxy(provider));
const throttled = kubeconfig.replace(provider.url, proxy.config.server);
await putKubeconfig(provider, providerSecret, throttled);
const konnector = cleanup.use(await startKonnector(fixture));
const names = Array.from({ length: 8 }, (_, index) => `w${index}`);
const patient = { timeoutMs: 120_000 };

test("an API server that answers half of all requests with 429 gets each claim, its edit and its deletion, and no claim changes meanwhile", async () => {
  proxy.throttle(true);
  await bindApi(fixture, widgets.name, throttled);
  await untilReady(widgets.name);
  for (const name of names) await create(type, widget(type, name, { size: 1 }));
  for (const name of names) await waitFor(`${name} upstream`, () => onProvider(type, name), patient);
  const uids = await Promise.all(names.map(async (name) => (await onProvider(type, name))?.metadata.uid));
  for (const name of names)
    await consumer.client.mergePatch(type, { namespace: "app", name }, { spec: { size: 2 } });
  for (const name of names)
    await waitFor(
      `the edit of ${name}`,
      async () => recordAt(await onProvider(type, name), "spec")["size"] === 2,
      patient,
    );
  assert.deepEqual(
    await Promise.all(names.map(async (name) => (await onProvider(type, name))?.metadata.uid)),
    uids,
  );
  const [first = "", ...others] = names;
  await consumer.client.delete(type, { namespace: "app", name: first });
  await waitFor("the deletion", async () => (await onConsumer(type, first)) === undefined, patient);
  assert.equal(await onProvider(type, first), undefined);
  for (const name of others) assert.ok(await onConsumer(type, name), name);
  assert.ok(proxy.throttled > 20, `${proxy.throttled} refusals`);
  assert.deepEqual(
    konnector.writes.filter(
      (write) => write === "consumer delete widgets" || write === "consumer create widgets",
    ),
    [],
  );
});
