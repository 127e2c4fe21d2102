/** Alerts of a sync that is slow or stands, made to fire in a real Prometheus by a way to the control plane that holds what goes over it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startAlertWatch, TcpProxy } from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, cleanup, untilReady, createSynced } = fixture;
const { client } = consumer;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const konnector = cleanup.use(await startKonnector(fixture));
const kubeconfig = fixture.kubeconfig.replace(provider.url, gate.url);
await putKubeconfig(provider, providerSecret, kubeconfig);
await bindApi(fixture, widgets.name, kubeconfig);
await untilReady(widgets.name);
await createSynced(widgets.type, "first");
const watch = cleanup.use(await startAlertWatch({ ports: { konnector: [konnector.probePort] } }));
await watch.settles();

/** Does so over and over until it is called again with nothing; a failure ends the test file. */
function over(everyMs: number, work: (index: number) => Promise<unknown>): () => Promise<void> {
  const stop = new AbortController();
  const running = (async () => {
    for (let index = 0; !stop.signal.aborted; index++) {
      await work(index);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return async () => {
    stop.abort();
    await running;
  };
}

test("KlutchSyncSlow: each request to the control plane takes more than a second", async () => {
  let stop = async (): Promise<void> => undefined;
  const labels = await watch.seesFault(
    "KlutchSyncSlow",
    async () => {
      gate.delay(700);
      const spec = (size: number): object => ({ spec: { size } });
      const first = { namespace: "app", name: "first" };
      stop = over(300, (index) => client.mergePatch(widgets.type, first, spec(index + 1)));
    },
    async () => {
      gate.delay(0);
      await stop();
    },
  );
  assert.equal(labels["resource"], "widgets");
});

test("KlutchClaimsPending: the control plane takes the request of a claim and does not answer", async () => {
  const labels = await watch.seesFault(
    "KlutchClaimsPending",
    async () => {
      gate.blackHole(true);
      await client.create(widgets.type, widget(widgets.type, "waits", {}));
    },
    async () => gate.blackHole(false),
  );
  assert.equal(labels["resource"], "widgets");
});

test("KlutchQueueGrows: the control plane answers nothing while more and more claims are made", async () => {
  let stop = async (): Promise<void> => undefined;
  await watch.seesFault(
    "KlutchQueueGrows",
    async () => {
      gate.blackHole(true);
      stop = over(40, (index) => client.create(widgets.type, widget(widgets.type, `many-${index}`, {})));
    },
    async () => {
      await stop();
      gate.blackHole(false);
    },
  );
});
